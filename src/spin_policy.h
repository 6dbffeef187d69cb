/*-------------------------------------------------------------------------
 *
 * spin_policy.h
 *	  Learns how long to spin for the locks of one tranche.
 *
 * Free of the server, so that it can be tested and simulated on the host.
 * See spin_policy.c for the method.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_SPIN_POLICY_H
#define LWTUNE_SPIN_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "local.h"

LWTUNE_BEGIN_LOCAL

/*
 * Durations of successful spins are counted in buckets that double: bucket i
 * holds those up to SPIN_BUCKET_NS << i.  The last one's end is the longest
 * time that can be learned, and the one that exploring spins may take.
 */
#define SPIN_BUCKETS 9
#define SPIN_BUCKET_NS 200
#define SPIN_LONGEST_NS ((int64_t) SPIN_BUCKET_NS << (SPIN_BUCKETS - 1))

/* What was seen since the last time, summed over processes. */
typedef struct SpinSample
{
	uint64_t	success[SPIN_BUCKETS];	/* spins that got the lock, by duration */
	uint64_t	fail;			/* that gave up at the limit in force */
	uint64_t	explore_fail;	/* that gave up at SPIN_LONGEST_NS */
} SpinSample;

typedef struct SpinLearner
{
	double		seen[SPIN_BUCKETS]; /* decayed: spins that reached a bucket */
	double		success[SPIN_BUCKETS];	/* and got the lock in it */
	int			limit;			/* buckets to spin for; 0 is not at all */
	uint32_t	explore_every;	/* one wait in so many explores */
} SpinLearner;

extern void spin_learner_init(SpinLearner *learner);

/* Take in a sample; true if limit or explore_every changed. */
extern bool spin_learn(SpinLearner *learner, const SpinSample *sample);

/* The time to spin, in nanoseconds, that limit stands for. */
extern int64_t spin_limit_ns(int limit);

LWTUNE_END_LOCAL

#endif							/* LWTUNE_SPIN_POLICY_H */
