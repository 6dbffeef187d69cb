/*-------------------------------------------------------------------------
 *
 * spin_policy.c
 *	  Learns how long to spin for the locks of one tranche.
 *
 * To wait for a lock one may spin, which costs the time spun, or queue and
 * sleep, which costs two context switches and the latency of a wake-up.  The
 * best limit on spinning minimizes the expected cost over the distribution of
 * the time until the lock can be had; that is competitive spinning with a
 * learned distribution (Karlin, Li, Manasse and Owicki, "Empirical Studies of
 * Competitive Spinning for a Shared-Memory Multiprocessor", 1991).
 *
 * The distribution is estimated from the spins themselves.  A spin that gave
 * up tells only that its time was longer than its limit, so the chance to get
 * the lock in a bucket is taken among the spins that reached it (the
 * Kaplan-Meier estimator for censored data).  Now and then a wait explores:
 * it spins for the longest time, so that something is known about what lies
 * beyond the limit, and a tranche for which spinning does not pay is found
 * again when it starts to.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "spin_policy.h"

/*
 * What sleeping costs, in nanoseconds of spinning.  More than the two context
 * switches: while a waiter is being woken, the lock is free and unused, and
 * whoever takes it meanwhile makes the wake-up useless.
 */
#define BLOCK_COST_NS 30000.0

/* Old samples weigh half as much after so many new spins. */
#define HALF_LIFE 512.0

/* Decide only on so many spins. */
#define ENOUGH 24.0

/* A limit is replaced only by one that is better by so much. */
#define HYSTERESIS 0.03

/* Start with something that is cheap when wrong. */
#define FIRST_LIMIT 5
#define FIRST_EXPLORE_EVERY 16

/*
 * While spinning pays, exploring is cheap, for it mostly succeeds.  While it
 * does not, its cost, SPIN_LONGEST_NS in each explore_every waits that take
 * BLOCK_COST_NS or more anyway, has to vanish.
 */
#define EXPLORE_EVERY 32
#define MAX_EXPLORE_EVERY 1024

static double
bucket_end(int bucket)
{
	return (double) ((int64_t) SPIN_BUCKET_NS << bucket);
}

static double
bucket_middle(int bucket)
{
	return bucket == 0 ? bucket_end(0) / 2 : bucket_end(bucket) * 0.75;
}

int64_t
spin_limit_ns(int limit)
{
	return limit == 0 ? 0 : (int64_t) SPIN_BUCKET_NS << (limit - 1);
}

void
spin_learner_init(SpinLearner *learner)
{
	memset(learner, 0, sizeof(*learner));
	learner->limit = FIRST_LIMIT;
	learner->explore_every = FIRST_EXPLORE_EVERY;
}

/*
 * Add the sample to what is remembered, after letting that fade.
 */
static double
remember(SpinLearner *learner, const SpinSample *sample)
{
	double		total = (double) (sample->fail + sample->explore_fail);
	double		keep;
	double		beyond;

	for (int i = 0; i < SPIN_BUCKETS; i++)
		total += (double) sample->success[i];
	keep = HALF_LIFE / (HALF_LIFE + total);

	/* from the last bucket back: who reached it, reached those before */
	beyond = (double) sample->explore_fail;
	for (int i = SPIN_BUCKETS - 1; i >= 0; i--)
	{
		if (i == learner->limit - 1)
			beyond += (double) sample->fail;
		beyond += (double) sample->success[i];
		learner->seen[i] = learner->seen[i] * keep + beyond;
		learner->success[i] = learner->success[i] * keep + (double) sample->success[i];
	}
	return total;
}

/*
 * Expected cost of spinning for the first limit buckets and sleeping then.
 */
static double
expected_cost(const SpinLearner *learner, int limit)
{
	double		waiting = 1.0;	/* still without the lock */
	double		cost = 0.0;

	for (int i = 0; i < limit; i++)
	{
		double		chance = learner->seen[i] > 0 ? learner->success[i] / learner->seen[i] : 0.0;

		cost += waiting * chance * bucket_middle(i);
		waiting *= 1.0 - chance;
	}
	return cost + waiting * ((limit > 0 ? bucket_end(limit - 1) : 0.0) + BLOCK_COST_NS);
}

bool
spin_learn(SpinLearner *learner, const SpinSample *sample)
{
	int			best;
	double		best_cost;
	uint32_t	explore_every;
	bool		changed;

	if (remember(learner, sample) == 0 || learner->seen[0] < ENOUGH)
		return false;

	best = learner->limit;
	best_cost = expected_cost(learner, best) * (1.0 - HYSTERESIS);
	for (int limit = 0; limit <= SPIN_BUCKETS; limit++)
	{
		double		cost = expected_cost(learner, limit);

		if (cost < best_cost)
		{
			best = limit;
			best_cost = cost;
		}
	}

	/* never keep on with what does not pay for itself */
	if (expected_cost(learner, 0) <= expected_cost(learner, best))
		best = 0;

	if (best > 0)
		explore_every = EXPLORE_EVERY;
	else if (learner->explore_every >= MAX_EXPLORE_EVERY / 2)
		explore_every = MAX_EXPLORE_EVERY;
	else
		explore_every = learner->explore_every * 2;

	changed = best != learner->limit || explore_every != learner->explore_every;
	learner->limit = best;
	learner->explore_every = explore_every;
	return changed;
}
