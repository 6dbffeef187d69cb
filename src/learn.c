/*-------------------------------------------------------------------------
 *
 * learn.c
 *	  What the worker learns where spin_time is auto.
 *
 * Every tranche has a learner for how long to spin, which is fed with what all
 * processes saw of their spins, and a pace, how often to look meanwhile, which
 * is tried where locks are contended: one tranche at a time, for some seconds
 * at most, and less and less often while nothing comes of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "learn.h"
#include "policy_parse.h"
#include "policy_shmem.h"
#include "portability/instr_time.h"
#include "shared.h"
#include "spin_pace.h"
#include "stat.h"

/* Between two looks at what was seen: while something is, and while nothing. */
#define LEARN_MS 50
#define IDLE_MS 500

/* A slice of a trial, and the least of acquisitions that say something. */
#define SLICE_MS 10
#define SLICE_ACQUISITIONS 500

/* A tranche is tried if so many spins were seen in LEARN_MS. */
#define CONTENDED_SPINS 100

/* Between two trials of a tranche. */
#define FIRST_REST_MS 1000
#define LONGEST_REST_MS 8000

typedef struct Learning
{
	bool		on;
	SpinLearner learner;
	SpinSample	seen;			/* totals up to now */
	uint64		spins;			/* in the last sample */
	int			pace;
	double		rest_ms;		/* after the next trial without a change */
	double		due_ms;			/* not to be tried before */
} Learning;

static Learning learning[TRANCHE_SLOTS];

/* The one trial that runs, if any. */
static PaceTrial trial;
static int	trial_slot = -1;
static uint64 slice_work;		/* when the slice began */
static double slice_start_ms;

static double next_look_ms;
static long look_every_ms = LEARN_MS;

static double
now_ms(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_MILLISEC(now);
}

void
learn_init(void)
{
	for (int slot = 0; slot < TRANCHE_SLOTS; slot++)
	{
		spin_learner_init(&learning[slot].learner);
		learning[slot].rest_ms = FIRST_REST_MS;
	}
}

/*
 * Totals over all processes, which only grow (modulo 2^32 in each process).
 */
static void
total_spins(int slot, SpinSample *total)
{
	memset(total, 0, sizeof(*total));
	for (int i = 0; i < lwtune_shared->nslabs; i++)
	{
		const volatile StatTranche *theirs = &lwtune_slabs[i].tranche[slot];

		total->fail += theirs->spin_fail[0];
		total->explore_fail += theirs->spin_fail[1];
		for (int bucket = 0; bucket < SPIN_BUCKETS; bucket++)
			total->success[bucket] += theirs->spin_success[bucket];
	}
}

static void
publish_learned(int slot)
{
	int			pace = slot == trial_slot ? pace_trial_now(&trial) : learning[slot].pace;

	policy_publish_learned(slot, &learning[slot].learner, pace);
}

void
learn_publish(void)
{
	policy_publish();
	for (int slot = 0; slot < TRANCHE_SLOTS; slot++)
	{
		bool		on = lwtune_shared->tranche_policy[slot].spin_time == POLICY_SPIN_AUTO;

		/* what was seen before it learned is of no use */
		if (on && !learning[slot].on)
			total_spins(slot, &learning[slot].seen);
		learning[slot].on = on;
		if (on)
			publish_learned(slot);
		else if (slot == trial_slot)
			trial_slot = -1;
	}
	look_every_ms = LEARN_MS;
	next_look_ms = 0;
}

/*
 * The difference of two totals, one of which may have wrapped in between.
 */
static uint64
since(uint64 total, uint64 before)
{
	return (uint32) (total - before);
}

/*
 * Did any process spin since the last time?
 */
static bool
anything_seen(void)
{
	static uint64 last = 0;
	uint64		now = 0;

	for (int i = 0; i < lwtune_shared->nslabs; i++)
		now += *(volatile uint32 *) &lwtune_slabs[i].spins_seen;
	if (now == last)
		return false;
	last = now;
	return true;
}

static void
learn_limit(int slot)
{
	Learning   *l = &learning[slot];
	SpinSample	total;
	SpinSample	sample;

	total_spins(slot, &total);
	sample.fail = since(total.fail, l->seen.fail);
	sample.explore_fail = since(total.explore_fail, l->seen.explore_fail);
	l->spins = sample.fail + sample.explore_fail;
	for (int bucket = 0; bucket < SPIN_BUCKETS; bucket++)
	{
		sample.success[bucket] = since(total.success[bucket], l->seen.success[bucket]);
		l->spins += sample.success[bucket];
	}
	l->seen = total;
	if (spin_learn(&l->learner, &sample))
		publish_learned(slot);
}

/*
 * Acquisitions so far.  Resets subtract from what views show only.
 */
static uint64
total_work(int slot)
{
	uint64		work = 0;

	for (int i = 0; i < lwtune_shared->nslabs; i++)
	{
		const volatile StatTranche *theirs = &lwtune_slabs[i].tranche[slot];

		work += theirs->count[STAT_sh_acquire_count] + theirs->count[STAT_ex_acquire_count];
	}
	return work;
}

static void
begin_slice(void)
{
	publish_learned(trial_slot);
	slice_work = total_work(trial_slot);
	slice_start_ms = now_ms();
}

/*
 * Of the tranches that may be tried now, the one with the most contention.
 */
static void
begin_trial(double now)
{
	static uint32 seed = 0;
	uint64		most = CONTENDED_SPINS;

	/* what is not counted cannot be compared */
	if (!stat_tracks(TRACK_COUNTS))
		return;
	for (int slot = 0; slot < TRANCHE_SLOTS; slot++)
	{
		const Learning *l = &learning[slot];

		if (l->on && l->learner.limit > 0 && l->spins >= most && now >= l->due_ms)
		{
			most = l->spins;
			trial_slot = slot;
		}
	}
	if (trial_slot < 0)
		return;
	pace_trial_begin(&trial, learning[trial_slot].pace, seed++);
	begin_slice();
}

static void
end_trial(double now)
{
	Learning   *l = &learning[trial_slot];
	int			slot = trial_slot;

	l->rest_ms = trial.changed ? FIRST_REST_MS : Min(l->rest_ms * 2, LONGEST_REST_MS);
	l->due_ms = now + l->rest_ms;
	l->pace = trial.pace;
	trial_slot = -1;
	publish_learned(slot);
}

static void
end_slice(double now)
{
	uint64		work = total_work(trial_slot) - slice_work;
	double		rate = work < SLICE_ACQUISITIONS ? 0.0 : work / (now - slice_start_ms);

	if (pace_trial_add(&trial, rate))
		begin_slice();
	else
		end_trial(now);
}

long
learn_step(void)
{
	double		now = now_ms();
	double		next;
	bool		any = false;

	for (int slot = 0; slot < TRANCHE_SLOTS && !any; slot++)
		any = learning[slot].on;
	if (!any)
		return -1;

	if (trial_slot >= 0 && now >= slice_start_ms + SLICE_MS)
		end_slice(now);
	if (now >= next_look_ms)
	{
		if (anything_seen())
		{
			for (int slot = 0; slot < TRANCHE_SLOTS; slot++)
			{
				if (learning[slot].on)
					learn_limit(slot);
			}
			if (trial_slot < 0)
				begin_trial(now);
			look_every_ms = LEARN_MS;
		}
		else
			look_every_ms = Min(look_every_ms * 2, IDLE_MS);
		next_look_ms = now + look_every_ms;
	}

	next = next_look_ms;
	if (trial_slot >= 0)
		next = Min(next, slice_start_ms + SLICE_MS);
	return Max((long) ceil(next - now_ms()), 1);
}
