// Closed loops: one thread is one run, from the first step to the last.
//
// Fields that change are the members of State and live in registers.  In shared memory lie the tables of the noise, STAGED rows of the
// reference, which all runs follow at the same time, and what a run keeps, parameters and gains of its own, (own values, BLOCK); what
// all runs have in common lies in constant memory.

static_assert(!NOISY || NOISY == TABLES, "room for the tables of the noise");

extern "C" __global__ void __launch_bounds__(BLOCK, 2)
simulate(long long runs, long long steps, const double *__restrict__ own, const double *__restrict__ initial,
         const u64 *__restrict__ numbers, const double *__restrict__ table, long long count,
         const long long *__restrict__ recorded, double *__restrict__ out) {
  const long long thread = (long long)blockIdx.x * BLOCK + threadIdx.x;
  const bool idle = thread >= runs;  // helps to fill what the block shares, and records nothing
  if (idle && THREADS == 1) return;
  const long long run = idle ? runs - 1 : thread;
  SHARED_MEMORY(shared);
  Two *turns = (Two *)shared, *logs = turns + TURNS;
  if (NOISY) tabulate(turns, logs, THREAD, THREADS);
  double *staged = shared + NOISY, *fixed = staged + STAGED * COLUMNS + threadIdx.x;
  for (int i = 0; i < OWN; i++) fixed[i * BLOCK] = own[i * runs + run];
  TOGETHER();
  const Stream stream = {numbers[run], turns, logs};
  State s = {};
  load_state(s, initial + run, runs);
  START(s, fixed, table, 0u, stream);
  long long kept = 0, next = count > 0 && !idle ? recorded[0] : -1;
  double *place = out + run;
#pragma unroll 1
  for (long long step = 0; step < steps; step++) {
    const int here = (int)(step % STAGED);
    if (here == 0) {
      TOGETHER();
      const long long left = (steps - step) * COLUMNS;
      for (int i = THREAD; i < STAGED * COLUMNS && i < left; i += THREADS) staged[i] = table[step * COLUMNS + i];
      TOGETHER();
    }
    const double *row = staged + here * COLUMNS;
    BEGIN(s, fixed, row, (u32)step, stream);
#pragma unroll 1
    for (int stage = 0; stage < STAGES; stage++) {  // one copy of the dynamics for all stages of the integrator
      FORWARD(s, fixed, row, (u32)step, stream);
      if (stage == 0) {
        if (step == next) {
          OUTPUT(s, fixed, row, (u32)step, stream);
          place = record(s, place, runs);
          next = ++kept < count ? recorded[kept] : -1;
        }
        FINISH(s, fixed, row, (u32)step, stream);
      }
      STAGE(stage, s, fixed, row, (u32)step, stream);
    }
  }
}
