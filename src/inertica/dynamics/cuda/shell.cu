// What every kernel on the card shares: elementary functions, random numbers, and the loops around the generated functions.
//
// The text in front of this file states, for each use, the macros and functions named in capitals below; `write.py` makes it.
// Products and sums are fused only where the text says fma, so that the card rounds as the processor does; what differs is division
// (a reciprocal with one Newton step instead of the IEEE quotient), and so the last place of some results.

typedef unsigned int u32;
typedef unsigned long long u64;
#define INLINE __device__ __forceinline__

// ---- elementary functions, without branches --------------------------------------------------------------------------------

#ifdef __CUDA_ARCH__
#define THREAD ((int)threadIdx.x)
#define THREADS BLOCK
#define TOGETHER() __syncthreads()
#define STORE(place, value) __stcs(place, value)  // nobody reads it soon, and the compiler does not work out places ahead
INLINE double reciprocal(double d) {
  double r;
  asm("rcp.approx.ftz.f64 %0,%1;" : "=d"(r) : "d"(d));
  const double e = fma(-d, r, 1.0);
  return fma(r, fma(e, e, e), r);
}
INLINE float reciprocal(float d) { return __frcp_rn(d); }
INLINE double root(double x) {  // of normal positive numbers
  double r;
  asm("rsqrt.approx.ftz.f64 %0,%1;" : "=d"(r) : "d"(x));
  const double y = x * r, e = fma(-r, y, 1.0);
  return fma(y * e, fma(e, 0.375, 0.5), y);
}
#else  // one thread after the other
#define THREAD 0
#define THREADS 1
#define TOGETHER()
#define STORE(place, value) *(place) = value
INLINE double reciprocal(double d) { return 1.0 / d; }
INLINE float reciprocal(float d) { return 1.0f / d; }
INLINE double root(double x) { return sqrt(x); }
#endif

// 2^52 and a whole number below 2^32; a conversion takes four times as long.
INLINE double whole(u32 n) { return __hiloint2double(0x43300000, (int)n); }

INLINE double sign_of(double x) {  // by its bits: comparisons would take the arithmetic unit
  const int high = __double2hiint(x), zero = ((high & 0x7fffffff) | __double2loint(x)) == 0;
  return __hiloint2double(zero ? 0 : (high & (int)0x80000000) | 0x3ff00000, 0);
}
INLINE float sign_of(float x) { return (float)(x > 0.0f) - (float)(x < 0.0f); }
template <class R> INLINE R smaller(R a, R b) { return b < a ? b : a; }  // a NaN in the first place stays
template <class R> INLINE R larger(R a, R b) { return b > a ? b : a; }

// x, or -x in the third and fourth quarter turn
INLINE double flipped(double x, u32 quarter) {
  return __hiloint2double(__double2hiint(x) ^ (int)((quarter & 2u) << 30), __double2loint(x));
}

__constant__ const double SINE[] = {1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
                              -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01};
__constant__ const double COSINE[] = {-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
                                2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02};
__constant__ const double QUARTERS[] = {0.63661977236758134308, 1.57079632673412561417e+00, 6.07710050630396597660e-11,
                                  2.02226624879595063154e-21};

template <int COUNT> INLINE double polynomial(const double (&coefficients)[COUNT], double z) {
  double p = coefficients[0];
#pragma unroll
  for (int i = 1; i < COUNT; i++) p = fma(p, z, coefficients[i]);
  return p;
}

// Sine and cosine of r + quarter pi/2, |r| <= pi/4 (fdlibm's polynomials).
INLINE void quadrant(double r, u32 quarter, double &sine, double &cosine) {
  const double z = r * r;
  const double s = fma(r * z, polynomial(SINE, z), r);
  const double c = fma(z * z, polynomial(COSINE, z), fma(z, -0.5, 1.0));
  sine = flipped((quarter & 1u) ? c : s, quarter);
  cosine = flipped((quarter & 1u) ? s : c, quarter + 1u);
}

#define MAGIC 6755399441055744.0  // 1.5 * 2^52: adding it rounds to a whole number held in the low bits

INLINE void sine_cosine(double x, double &sine, double &cosine) {  // |x| < 1e5
  const double t = fma(x, QUARTERS[0], MAGIC), k = t - MAGIC;
  double r = fma(-k, QUARTERS[1], x);
  r = fma(-k, QUARTERS[2], r);
  r = fma(-k, QUARTERS[3], r);
  quadrant(r, (u32)__double2loint(t), sine, cosine);
}
INLINE void sine_cosine(float x, float &sine, float &cosine) { sincosf(x, &sine, &cosine); }

// -2 ln(x / 2^32) of normal positive numbers.
INLINE double minus_two_log(double x) {
  const int h = __double2hiint(x) + (0x3ff00000 - 0x3fe6a09e);  // mantissas in about [sqrt(1/2), sqrt(2))
  const double k = whole((u32)h >> 20) - (4503599627370496.0 + 1055.0);
  const double f = __hiloint2double((h & 0x000fffff) + 0x3fe6a09e, __double2loint(x)) - 1.0;
  const double s = f * reciprocal(f + 2.0), z = s * s, square = f * f;
  double p = fma(1.479819860511658591e-01, z, 1.531383769920937332e-01);
  p = fma(p, z, 1.818357216161805012e-01);
  p = fma(p, z, 2.222219843214978396e-01);
  p = fma(p, z, 2.857142874366239149e-01);
  p = fma(p, z, 3.999999999940941908e-01);
  p = fma(p, z, 6.666666666666735130e-01);
  const double rest = fma(-2.0 * s, fma(z, p, 0.5 * square), fma(-2.0, f, square));
  return fma(k, -1.38629436111989061883, rest);
}

// ---- random numbers: `inertica.dynamics.noise` is the definition -------------------------------------------------------------
//
// Logarithms, sines and cosines of the transform come from tables in shared memory and short polynomials between their entries: half
// the arithmetic of polynomials alone.  The normal numbers are those of the definition to about 1e-14.

struct alignas(16) Two {
  double a, b;
};
#define TURNS 512  // cosine and sine of i 2 pi / TURNS - pi
#define LOGS 256   // 1 / m and -2 ln m of mantissas m, the middles of as many intervals
#define LOWEST 0x3fe6a09e  // high word of the smallest mantissa, about sqrt(1/2)
#define TABLES (2 * (TURNS + LOGS))

__constant__ const double LOGARITHM[] = {0x1.00002af7b9adcp-1, -0x1.555588e5008acp-1, 0x1.fffffffffea5dp-1, -0x1.ffffffffff305p+0};
__constant__ const double TURN[] = {-0x1.4abba594e52f3p-91, 0x1.921fb5444044bp-30, 0x1.03c1db247a00ep-122, -0x1.3bd3cc9be3b30p-60};
__constant__ const double SCALE[] = {-1.38629436111989061883, 4503599627370496.0 + 1055.0, 4503599627370496.0 - 0.5,
                               4503599627370496.0 + 4194304.0};
__constant__ double KEYS[20];  // of the ten rounds, the seed's: 2^52 and a word

struct Stream {
  u64 run;
  const Two *turns, *logs;
};

// All threads of a block fill its tables; a single one does where threads run one after the other.
INLINE void tabulate(Two *turns, Two *logs, int thread, int threads) {
  for (int i = thread; i < TURNS; i += threads) {
    const u32 turned = (u32)i + TURNS / 8;
    quadrant(((int)(turned % (TURNS / 4)) - TURNS / 8) * (6.28318530717958647693 / TURNS), turned / (TURNS / 4) + 2u,
             turns[i].b, turns[i].a);
  }
  for (int i = thread; i < LOGS; i += threads) {
    const bool one = i == (0x3ff00000 - LOWEST) * LOGS >> 20;  // small logarithms keep their digits
    const double inverse = one ? 1.0 : reciprocal(__hiloint2double(LOWEST + (2 * i + 1) * ((1 << 19) / LOGS), 0));
    logs[i].a = inverse, logs[i].b = one ? 0.0 : -minus_two_log(inverse * 4294967296.0);
  }
}

INLINE void philox(u32 c0, u32 c1, u32 c2, u32 c3, u32 *words) {
#pragma unroll
  for (int round = 0; round < 10; round++) {
    const u64 product0 = (u64)0xD2511F53u * c0, product1 = (u64)0xCD9E8D57u * c2;
    c0 = (u32)(product1 >> 32) ^ c1 ^ (u32)__double2loint(KEYS[2 * round]), c1 = (u32)product1;
    c2 = (u32)(product0 >> 32) ^ c3 ^ (u32)__double2loint(KEYS[2 * round + 1]), c3 = (u32)product0;
  }
  words[0] = c0, words[1] = c1, words[2] = c2, words[3] = c3;
}

// sqrt(-2 ln((word + 1/2) / 2^32))
INLINE double radius_of(u32 word, const Two *logs) {
  const double x = whole(word) - SCALE[2];
  const int h = __double2hiint(x) + (0x3ff00000 - LOWEST), mantissa = h & 0x000fffff;
  const Two near = logs[mantissa / ((1 << 20) / LOGS)];
  const double k = whole((u32)h >> 20) - SCALE[1];
  const double f = fma(__hiloint2double(mantissa + LOWEST, __double2loint(x)), near.a, -1.0);  // |f| < 0.00196
  return root(fma(f, polynomial(LOGARITHM, f), fma(k, SCALE[0], near.b)));  // the polynomial is -2 ln(1 + f) / f
}

// Cosine and sine of (word - 2^31) 2^-30 quarter turns.
INLINE Two direction_of(u32 word, const Two *turns) {
  const u32 part = 0xffffffffu / TURNS + 1u, rounded = word + part / 2u;
  const Two near = turns[rounded / part];
  const double d = whole(rounded % part) - SCALE[3], z = d * d;  // in units of 2^-32 turns, at most 2^22
  const double s = d * fma(z, TURN[0], TURN[1]), c = z * fma(z, TURN[2], TURN[3]);  // sine, and cosine less one
  return {fma(near.a, c, fma(-near.b, s, near.a)), fma(near.b, c, fma(near.a, s, near.b))};
}

// SIZE standard normal numbers of a run and a step, four from each call.
template <int SIZE> INLINE void normals(const Stream &stream, u32 step, u32 first_call, double *z) {
#pragma unroll
  for (int call = 0; call < (SIZE + 3) / 4; call++) {
    u32 w[4];
    philox(step, first_call + call, (u32)stream.run, (u32)(stream.run >> 32), w);
#pragma unroll
    for (int pair = 0; pair < 2; pair++) {
      const int i = 4 * call + 2 * pair;
      if (i >= SIZE) break;
      const double radius = radius_of(w[2 * pair], stream.logs);
      const Two direction = direction_of(w[2 * pair + 1], stream.turns);
      z[i] = radius * direction.a;
      if (i + 1 < SIZE) z[i + 1] = radius * direction.b;
    }
  }
}
