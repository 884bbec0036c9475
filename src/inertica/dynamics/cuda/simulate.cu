// Closed loops: one thread is one run, from the first step to the last.
//
// Fields that change are the members of State and live in registers.  What a run keeps is FIXED(i): parameters and gains of its own
// lie in shared memory, (own values, BLOCK), behind the tables of the noise; what all runs have in common lies in constant memory.

#ifdef __CUDA_ARCH__
#define THREAD ((int)threadIdx.x)
#define THREADS BLOCK
#define TOGETHER(work) work, __syncthreads()
#else  // one thread after the other
#define THREAD 0
#define THREADS 1
#define TOGETHER(work) work
#endif

extern "C" __global__ void __launch_bounds__(BLOCK, 2)
simulate(long long runs, long long steps, const double *__restrict__ own, const double *__restrict__ initial,
         const u64 *__restrict__ numbers, u64 seed, const double *__restrict__ table, long long count,
         const long long *__restrict__ recorded, double *__restrict__ out) {
  const long long run = (long long)blockIdx.x * BLOCK + threadIdx.x;
  SHARED_MEMORY(shared);
  Two *turns = (Two *)shared, *logs = turns + TURNS;
  if (NOISY) TOGETHER(tabulate(turns, logs, THREAD, THREADS));
  if (run >= runs) return;
  double *fixed = shared + (NOISY ? TABLES : 0) + threadIdx.x;
  for (int i = 0; i < OWN; i++) fixed[i * BLOCK] = own[i * runs + run];
  const Stream stream = {numbers[run], seed, turns, logs};
  State s = {};
  load_state(s, initial + run, runs);
  START(s, fixed, table, 0u, stream);
  long long kept = 0, next = count > 0 ? recorded[0] : -1;
  double *place = out + run;
#pragma unroll 1
  for (long long step = 0; step < steps; step++, table += COLUMNS) {
    BEGIN(s, fixed, table, (u32)step, stream);
#pragma unroll 1
    for (int stage = 0; stage < STAGES; stage++) {  // one copy of the dynamics for all stages of the integrator
      FORWARD(s, fixed, table, (u32)step, stream);
      if (stage == 0) {
        if (step == next) {
          OUTPUT(s, fixed, table, (u32)step, stream);
          place = record(s, place, runs);
          next = ++kept < count ? recorded[kept] : -1;
        }
        FINISH(s, fixed, table, (u32)step, stream);
      }
      STAGE(stage, s, fixed, table, (u32)step, stream);
    }
  }
}
