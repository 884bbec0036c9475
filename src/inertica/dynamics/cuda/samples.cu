// A kernel on samples: one thread is one sample; outputs (outputs, samples).

extern "C" __global__ void __launch_bounds__(BLOCK)
samples(long long count, const double *__restrict__ varying, double *__restrict__ out) {
  const long long sample = (long long)blockIdx.x * BLOCK + threadIdx.x;
  if (sample < count) evaluate(varying + sample, out + sample, count);
}
