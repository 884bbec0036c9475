// A recursion over rows: one thread is one column.

extern "C" __global__ void __launch_bounds__(BLOCK)
scan(long long columns, long long rows, int backward, double *__restrict__ signal, double *__restrict__ state) {
  const long long column = (long long)blockIdx.x * BLOCK + threadIdx.x;
  if (column >= columns) return;
  State s;
  for (int i = 0; i < STATES; i++) s.state[i] = state[i * columns + column];
  for (long long k = 0; k < rows; k++) {
    double *at = signal + (backward ? rows - 1 - k : k) * columns + column;
    s.row[0] = *at;
    STEP(s);
    *at = s.row[0];
  }
  for (int i = 0; i < STATES; i++) state[i * columns + column] = s.state[i];
}
