// A recursion over rows: one thread is one column.  Rows are read AHEAD at a time: from far away, each by itself would be waited for.

#define AHEAD 8

extern "C" __global__ void __launch_bounds__(BLOCK)
scan(long long columns, long long rows, int backward, double *__restrict__ signal, double *__restrict__ state) {
  const long long column = (long long)blockIdx.x * BLOCK + threadIdx.x;
  if (column >= columns) return;
  State s;
  for (int i = 0; i < STATES; i++) s.state[i] = state[i * columns + column];
  const long long way = backward ? -columns : columns;
  double *at = signal + (backward ? rows - 1 : 0) * columns + column, next[AHEAD];
  for (long long k = 0; k < rows; k += AHEAD) {
#pragma unroll
    for (int i = 0; i < AHEAD; i++) next[i] = k + i < rows ? at[i * way] : 0.0;
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
      if (k + i >= rows) break;
      s.row[0] = next[i];
      STEP(s);
      *at = s.row[0];
      at += way;
    }
  }
  for (int i = 0; i < STATES; i++) state[i * columns + column] = s.state[i];
}
