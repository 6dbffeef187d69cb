/*-------------------------------------------------------------------------
 *
 * spin_pace.c
 *	  Learns how often a spinner should look at the locks of one tranche.
 *
 * Each look takes the lock's cache line from the holder, who needs it for the
 * release and, often, for the next acquisition.  If a lock is taken again and
 * again for a short time, it is best to let one process go on for a while; if
 * it is needed once in a while, waiting longer than necessary is time lost.
 * What spinners see does not tell which is the case, for the gain is the
 * holder's.  So it is tried: two paces alternate in short slices, in random
 * order within each pair, and the rate of acquisitions decides.  Drift and
 * bursts of load that are slower than a pair concern both.
 *
 * Pairs are compared by the trimmed mean of the logarithms of their ratios,
 * with the standard error from the winsorized variance (Yuen, "The two-sample
 * trimmed t for unequal population variances", Biometrika 61, 1974; here for
 * one sample).  A trial looks after each pair whether it can end, so it asks
 * for more certainty than a single test would.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <string.h>

#include "spin_pace.h"

#define LONGEST_PACE_NS 8000

/* Look at the result from so many pairs on. */
#define FEWEST_PAIRS 8

/*
 * A rival has to be better by so much (a logarithm); less if it looks more
 * often, for the one who waits has the lock sooner then ...
 */
#define WORTHWHILE 0.03
#define WORTHWHILE_SOONER 0.005

/* ... surely, in standard errors; and is given up when it hardly can be. */
#define SURE 3.5
#define HARDLY 2.0

/* Give up where there is no steady load. */
#define MOST_VOID 4

int64_t
spin_pace_ns(int pace)
{
	return pace == 0 ? 0 : LONGEST_PACE_NS >> 2 * (SPIN_PACES - 1 - pace);
}

static bool
toss(PaceTrial *trial)
{
	trial->dice = trial->dice * UINT32_C(1664525) + UINT32_C(1013904223);
	return (trial->dice >> 31) != 0;
}

static void
compare_with(PaceTrial *trial, int rival)
{
	trial->rival = rival;
	trial->npairs = 0;
	trial->nvoid = 0;
	trial->slices = 0;
	trial->rival_first = toss(trial);
}

/*
 * Is there a pace next to the best one in this direction?
 */
static bool
compare_towards(PaceTrial *trial, int direction)
{
	int			rival = trial->pace + direction;

	if (rival < 0 || rival >= SPIN_PACES)
		return false;
	compare_with(trial, rival);
	return true;
}

void
pace_trial_begin(PaceTrial *trial, int pace, uint32_t seed)
{
	int			direction;

	memset(trial, 0, sizeof(*trial));
	trial->pace = pace;
	trial->dice = seed;
	direction = toss(trial) ? 1 : -1;
	if (!compare_towards(trial, direction))
	{
		trial->turned = true;
		compare_towards(trial, -direction);
	}
}

int
pace_trial_now(const PaceTrial *trial)
{
	return (trial->slices == 0) == trial->rival_first ? trial->rival : trial->pace;
}

/*
 * The rival lost: is there another one?
 */
static bool
turn(PaceTrial *trial)
{
	/* where a step was won just now, the way back was compared by it */
	if (trial->turned || trial->changed)
		return false;
	trial->turned = true;
	return compare_towards(trial, trial->pace - trial->rival);
}

/*
 * The rival won: go on in the same direction.
 */
static bool
step(PaceTrial *trial)
{
	int			direction = trial->rival - trial->pace;

	trial->pace = trial->rival;
	trial->changed = true;
	return compare_towards(trial, direction);
}

static void
insert_sorted(PaceTrial *trial, double gain)
{
	int			i = trial->npairs++;

	for (; i > 0 && trial->gain[i - 1] > gain; i--)
		trial->gain[i] = trial->gain[i - 1];
	trial->gain[i] = gain;
}

/*
 * A fifth of the pairs at either end may be anything.
 */
static void
trimmed_mean(const PaceTrial *trial, double *mean, double *error)
{
	int			n = trial->npairs;
	int			cut = n / 5;
	int			kept = n - 2 * cut;
	double		sum = 0.0;
	double		winsorized = 0.0;
	double		squares = 0.0;

	for (int i = cut; i < n - cut; i++)
		sum += trial->gain[i];
	*mean = sum / kept;

	winsorized = (sum + cut * (trial->gain[cut] + trial->gain[n - 1 - cut])) / n;
	for (int i = 0; i < n; i++)
	{
		int			nearest = i < cut ? cut : i > n - 1 - cut ? n - 1 - cut : i;
		double		off = trial->gain[nearest] - winsorized;

		squares += off * off;
	}
	*error = sqrt(squares / ((double) kept * (kept - 1)));
}

bool
pace_trial_add(PaceTrial *trial, double rate)
{
	double		worthwhile = trial->rival > trial->pace ? WORTHWHILE : WORTHWHILE_SOONER;
	double		mean;
	double		error;

	trial->rate[pace_trial_now(trial) == trial->rival ? 1 : 0] = rate;
	if (++trial->slices < 2)
		return true;
	trial->slices = 0;
	trial->rival_first = toss(trial);

	if (trial->rate[0] <= 0.0 || trial->rate[1] <= 0.0)
		return ++trial->nvoid < MOST_VOID;
	insert_sorted(trial, log(trial->rate[1] / trial->rate[0]));
	if (trial->npairs < FEWEST_PAIRS)
		return true;

	trimmed_mean(trial, &mean, &error);
	if (mean > worthwhile && mean > SURE * error)
		return step(trial);
	if (trial->npairs == PACE_PAIRS || mean + HARDLY * error < worthwhile)
		return turn(trial);
	return true;
}
