/*-------------------------------------------------------------------------
 *
 * test_spin_pace.c
 *	  Does a trial find how often a spinner should look?
 *
 * A load is simulated by the rate that each pace gives, with noise on it.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "spin_pace.h"

#include "tap.h"

#define TRIALS 400

/* No trial may be longer: each comparison, in pairs of two slices. */
#define MOST_SLICES (2 * PACE_PAIRS * SPIN_PACES)

typedef struct Load
{
	double		rate[SPIN_PACES];
	double		noise;			/* standard deviation of the logarithm */
	double		stall;			/* chance of a slice that got a third of its time */
	double		drift;			/* factor by which the machine changes in 100 slices */
} Load;

static uint64_t dice = 1;

static double
random_unit(void)
{
	dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return ((double) (dice >> 33) + 0.5) / 2147483648.0;
}

static double
random_normal(void)
{
	return sqrt(-2.0 * log(random_unit())) * cos(6.283185307179586 * random_unit());
}

/* One trial; returns the verdict, and in *slices how long it took. */
static int
try_from(int pace, const Load *load, int *slices)
{
	PaceTrial	trial;
	double		rate;

	pace_trial_begin(&trial, pace, (uint32_t) (random_unit() * 4294967295.0));
	for (*slices = 1;; ++*slices)
	{
		rate = load->rate[pace_trial_now(&trial)];
		if (load->noise > 0)
			rate *= exp(load->noise * random_normal());
		if (load->stall > 0 && random_unit() < load->stall)
			rate /= 3;
		if (load->drift > 0)
			rate *= pow(load->drift, *slices / 100.0);
		if (!pace_trial_add(&trial, rate) || *slices > MOST_SLICES)
			return trial.pace;
	}
}

/* How many of TRIALS from a pace end with another one; sets *longest. */
static int
verdict_counts(int from, const Load *load, int count[SPIN_PACES])
{
	int			longest = 0;

	memset(count, 0, SPIN_PACES * sizeof(int));
	for (int i = 0; i < TRIALS; i++)
	{
		int			slices;

		count[try_from(from, load, &slices)]++;
		longest = slices > longest ? slices : longest;
	}
	return longest;
}

static void
test_paces(void)
{
	bool		rising = spin_pace_ns(0) == 0;

	for (int pace = 1; pace < SPIN_PACES; pace++)
		rising = rising && spin_pace_ns(pace) > spin_pace_ns(pace - 1);
	ok(rising, "paces rise from 0 to %lld ns", (long long) spin_pace_ns(SPIN_PACES - 1));
}

static void
test_order(void)
{
	int			used[2] = {0, 0};
	int			first[2] = {0, 0};
	bool		paired = true;
	PaceTrial	trial;

	for (int i = 0; i < TRIALS; i++)
	{
		int			one,
					other;

		pace_trial_begin(&trial, 0, (uint32_t) i);
		do
		{
			one = pace_trial_now(&trial);
			pace_trial_add(&trial, 100.0 + random_normal());
			other = pace_trial_now(&trial);
			paired = paired && one != other;
			first[one]++;
			used[one]++;
			used[other]++;
		} while (pace_trial_add(&trial, 100.0 + random_normal()));
	}
	ok(paired && used[0] == used[1], "each pair has a slice of either pace");
	ok(abs(first[0] - first[1]) < (first[0] + first[1]) / 10, "in random order: %d and %d were first", first[0], first[1]);
}

static void
test_verdicts(void)
{
	static const Load gains = {{1.0, 1.2, 1.45, 1.6}, 0.05, 0.05, 0};
	static const Load loses = {{1.0, 0.9, 0.85, 0.8}, 0.05, 0.05, 0};
	static const Load equal = {{1.0, 1.0, 1.0, 1.0}, 0.15, 0.05, 0};
	static const Load drifts = {{1.0, 1.0, 1.0, 1.0}, 0.05, 0, 4.0};
	static const Load a_little = {{1.0, 0.985, 0.97, 0.955}, 0.01, 0.05, 0};
	static const Load middle = {{1.0, 1.2, 1.0, 0.8}, 0.03, 0.05, 0};
	int			count[SPIN_PACES];
	int			longest;
	int			pace = SPIN_PACES - 1;
	int			slices;

	longest = verdict_counts(0, &gains, count);
	ok(count[SPIN_PACES - 1] > TRIALS * 8 / 10, "where patience pays it is found: in %d of %d trials", count[SPIN_PACES - 1], TRIALS);
	ok(longest <= MOST_SLICES, "the longest took %d slices", longest);

	verdict_counts(0, &loses, count);
	ok(count[0] > TRIALS * 98 / 100, "where it does not, nothing changes: in %d of %d", count[0], TRIALS);
	verdict_counts(SPIN_PACES - 1, &loses, count);
	ok(count[SPIN_PACES - 1] < TRIALS / 10, "and it is given up again: but in %d of %d", count[SPIN_PACES - 1], TRIALS);

	for (int i = 0; i < 6; i++)
		pace = try_from(pace, &a_little, &slices);
	ok(pace == 0, "of what makes little difference, the one that looks sooner");

	verdict_counts(0, &equal, count);
	ok(count[0] > TRIALS * 93 / 100, "noise alone changes little: nothing in %d of %d", count[0], TRIALS);
	verdict_counts(1, &equal, count);
	ok(count[1] > TRIALS * 90 / 100, "in neither direction: nothing in %d of %d", count[1], TRIALS);
	verdict_counts(1, &drifts, count);
	ok(count[1] > TRIALS * 90 / 100, "nor does drift: nothing in %d of %d", count[1], TRIALS);

	verdict_counts(1, &middle, count);
	ok(count[1] > TRIALS * 98 / 100, "the best is kept: in %d of %d", count[1], TRIALS);
	verdict_counts(0, &middle, count);
	ok(count[1] > TRIALS * 98 / 100, "and found: in %d of %d", count[1], TRIALS);
	pace = SPIN_PACES - 1;
	for (int i = 0; i < 3; i++)
		pace = try_from(pace, &middle, &slices);
	ok(pace == 1, "from either side");
}

static void
test_no_work(void)
{
	static const Load idle = {{0}, 0, 0, 0};
	int			slices;

	ok(try_from(2, &idle, &slices) == 2 && slices <= 20, "without work a trial ends soon, and nothing changes");
}

int
main(void)
{
	test_paces();
	test_order();
	test_verdicts();
	test_no_work();
	return tap_done();
}
