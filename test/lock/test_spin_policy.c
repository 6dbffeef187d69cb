/*-------------------------------------------------------------------------
 *
 * test_spin_policy.c
 *	  Does the learner learn how long to spin?
 *
 * A lock is simulated by how long it takes until it can be had.  Waits spin
 * as spin_wait.c has them spin, and what they see is handed over in samples,
 * as the worker does.  Properties are tested, not the learner's constants: the
 * times are such that any sensible price of sleeping, a few microseconds to
 * some fifty, gives the same answer.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "spin_policy.h"

#include "tap.h"

#define EARLY_NS	300			/* spinning surely pays, */
#define LATE_NS		4500		/* ... still does, */
#define NEVER_NS	1000000		/* ... and does not */

#define COVERS(limit, ns) (spin_limit_ns(limit) >= (ns))

typedef struct Lock
{
	int64_t		early;			/* until it can be had, in nanoseconds */
	int64_t		other;
	int			early_percent;
} Lock;

typedef struct Simulation
{
	SpinLearner learner;
	uint64_t	dice;
	uint64_t	waits;
	uint64_t	explored;
	uint64_t	limit_changes;
	bool		sound;			/* all that must hold at any time held */
} Simulation;

static const Lock early = {EARLY_NS, EARLY_NS, 100};
static const Lock late = {LATE_NS, LATE_NS, 100};
static const Lock never = {NEVER_NS, NEVER_NS, 100};
static const Lock early_or_never = {EARLY_NS, NEVER_NS, 70};
static const Lock late_or_never = {LATE_NS, NEVER_NS, 95};
static const Lock early_or_late = {EARLY_NS, LATE_NS, 50};

static uint64_t
random_next(uint64_t *dice)
{
	*dice = *dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *dice >> 33;
}

static bool
is_sound(const SpinLearner *learner)
{
	if (learner->limit < 0 || learner->limit > SPIN_BUCKETS || learner->explore_every == 0)
		return false;
	for (int i = 0; i < SPIN_BUCKETS; i++)
	{
		if (!isfinite(learner->seen[i]) || !isfinite(learner->success[i]))
			return false;
		if (learner->success[i] < 0 || learner->success[i] > learner->seen[i] * (1 + 1e-9))
			return false;
		/* who reached a bucket has reached those before it */
		if (i > 0 && learner->seen[i] > learner->seen[i - 1] * (1 + 1e-9))
			return false;
	}
	return true;
}

/* Hand a sample over; whatever it is, some things must hold. */
static bool
learn(Simulation *s, const SpinSample *sample)
{
	SpinLearner before = s->learner;
	bool		changed = spin_learn(&s->learner, sample);

	s->sound = s->sound && is_sound(&s->learner);
	s->sound = s->sound && changed == (before.limit != s->learner.limit ||
									   before.explore_every != s->learner.explore_every);
	s->limit_changes += before.limit != s->learner.limit;
	return changed;
}

static void
begin(Simulation *s)
{
	memset(s, 0, sizeof(*s));
	s->dice = 1;
	s->sound = true;
	spin_learner_init(&s->learner);
}

static int
bucket_of(int64_t ns)
{
	int			bucket = 0;

	while (bucket < SPIN_BUCKETS - 1 && ns > (int64_t) SPIN_BUCKET_NS << bucket)
		bucket++;
	return bucket;
}

/* One sample's worth of waits. */
static void
wait_for(Simulation *s, const Lock *lock, int nwaits)
{
	SpinSample	sample;

	memset(&sample, 0, sizeof(sample));
	for (int i = 0; i < nwaits; i++)
	{
		bool		exploring = ++s->waits % s->learner.explore_every == 0;
		int64_t		budget = exploring ? SPIN_LONGEST_NS : spin_limit_ns(s->learner.limit);
		int64_t		ns = (int) (random_next(&s->dice) % 100) < lock->early_percent ? lock->early : lock->other;

		/* it is not always the same */
		ns = ns * (int64_t) (900 + random_next(&s->dice) % 200) / 1000;
		s->explored += exploring;
		if (budget == 0)
			continue;
		if (ns <= budget)
			sample.success[bucket_of(ns)]++;
		else if (exploring)
			sample.explore_fail++;
		else
			sample.fail++;
	}
	learn(s, &sample);
}

static void
wait_often(Simulation *s, const Lock *lock, int nsamples, int nwaits)
{
	for (int i = 0; i < nsamples; i++)
		wait_for(s, lock, nwaits);
}

/* Waits until the limit is what it should be, or 0 if it never is. */
static uint64_t
waits_until(Simulation *s, const Lock *lock, bool spinning, uint64_t at_most)
{
	uint64_t	start = s->waits;

	while (s->waits - start < at_most)
	{
		wait_for(s, lock, 50);
		if ((s->learner.limit > 0) == spinning)
			return s->waits - start;
	}
	return 0;
}

static void
test_limits(void)
{
	bool		doubling = spin_limit_ns(0) == 0;

	for (int limit = 1; limit <= SPIN_BUCKETS; limit++)
		doubling &= spin_limit_ns(limit) == (int64_t) SPIN_BUCKET_NS << (limit - 1);
	ok(doubling, "limits are the ends of the buckets");
	ok(spin_limit_ns(SPIN_BUCKETS) == SPIN_LONGEST_NS, "the last one is the longest time");
}

static void
test_beginning(void)
{
	Simulation	s;
	SpinSample	nothing;

	begin(&s);
	ok(is_sound(&s.learner), "a new learner is in order");
	memset(&nothing, 0, sizeof(nothing));
	ok(!learn(&s, &nothing) && s.sound, "from nothing, nothing is learned");
	nothing.success[0] = 1;
	ok(!learn(&s, &nothing), "nor from a single spin");
}

static void
test_distributions(void)
{
	Simulation	s;

	begin(&s);
	wait_often(&s, &early, 100, 100);
	ok(COVERS(s.learner.limit, EARLY_NS * 1.1) && s.sound, "a lock that is soon free is spun for: %lld ns",
	   (long long) spin_limit_ns(s.learner.limit));

	/* what spins at the first limit tell is only that it is later */
	begin(&s);
	wait_often(&s, &late, 200, 100);
	ok(COVERS(s.learner.limit, LATE_NS * 1.1) && s.sound, "one that is free later is spun for longer: %lld ns",
	   (long long) spin_limit_ns(s.learner.limit));

	begin(&s);
	wait_often(&s, &never, 200, 100);
	ok(s.learner.limit == 0 && s.sound, "one that is not free for long is not spun for");

	begin(&s);
	wait_often(&s, &early_or_never, 200, 100);
	ok(COVERS(s.learner.limit, EARLY_NS * 1.1) && s.learner.limit < SPIN_BUCKETS && s.sound,
	   "one that is free soon or not for long is spun for, but not long: %lld ns",
	   (long long) spin_limit_ns(s.learner.limit));

	begin(&s);
	wait_often(&s, &late_or_never, 200, 100);
	ok(COVERS(s.learner.limit, LATE_NS * 1.1) && s.sound, "one that is mostly free later too: %lld ns",
	   (long long) spin_limit_ns(s.learner.limit));

	begin(&s);
	wait_often(&s, &early_or_late, 200, 100);
	ok(COVERS(s.learner.limit, LATE_NS * 1.1) && s.sound, "with two times that pay, it is the longer one: %lld ns",
	   (long long) spin_limit_ns(s.learner.limit));
}

static void
test_change(void)
{
	Simulation	s;
	uint64_t	waits;
	int			limit;

	begin(&s);
	wait_often(&s, &never, 500, 100);
	waits = waits_until(&s, &early, true, 1000000);
	ok(waits > 0 && s.sound, "when it starts to pay after a long time that is found: after %llu waits",
	   (unsigned long long) waits);
	wait_often(&s, &early, 200, 100);
	ok(COVERS(s.learner.limit, EARLY_NS * 1.1), "and the limit is right soon after");

	limit = s.learner.limit;
	waits = waits_until(&s, &never, false, 400000);
	ok(s.learner.limit <= limit && s.sound, "when it ceases to pay, it is not spun for longer");
	ok(waits > 0 && s.sound, "and spinning ends: after %llu waits", (unsigned long long) waits);
	begin(&s);
	wait_often(&s, &late, 200, 100);
	waits = waits_until(&s, &never, false, 100000);
	ok(waits > 0 && s.sound, "when it ceases to pay from a longer limit, spinning ends: after %llu waits",
	   (unsigned long long) waits);

	begin(&s);
	wait_often(&s, &early, 200, 100);
	wait_often(&s, &late, 400, 100);
	ok(COVERS(s.learner.limit, LATE_NS * 1.1) && s.sound, "when it takes longer, the limit follows");
	wait_often(&s, &never, 400, 100);
	wait_often(&s, &late, 4000, 100);
	ok(COVERS(s.learner.limit, LATE_NS * 1.1) && s.sound, "even if it was not worth it meanwhile");
}

static void
test_exploring(void)
{
	Simulation	s;
	uint32_t	first;
	uint32_t	last;
	bool		rarer = true;
	uint64_t	explored;
	uint64_t	waits;

	begin(&s);
	first = last = s.learner.explore_every;
	for (int i = 0; i < 1000; i++)
	{
		wait_for(&s, &never, 100);
		if (s.learner.limit == 0)
		{
			rarer &= s.learner.explore_every >= last;
			last = s.learner.explore_every;
		}
	}
	explored = s.explored;
	waits = s.waits;
	wait_often(&s, &never, 1000, 100);
	explored = s.explored - explored;
	waits = s.waits - waits;
	ok(rarer && last > first, "while it does not pay, exploring becomes rarer, never more frequent");
	/* its cost, in time beyond that of the sleeps that come anyway */
	ok((double) explored * SPIN_LONGEST_NS < 0.01 * (double) waits * NEVER_NS,
	   "in the end it costs less than a hundredth of the waiting: one of %u", s.learner.explore_every);
	ok(explored > 0, "but it goes on");

	wait_often(&s, &early, 3000, 100);
	ok(s.learner.limit > 0 && s.learner.explore_every < last, "and is more frequent again when it pays");
}

static void
test_steadiness(void)
{
	static const Lock *const locks[] = {&early, &late, &never, &early_or_never, &late_or_never, &early_or_late};
	uint64_t	changes = 0;
	uint64_t	most = 0;
	bool		sound = true;
	Lock		even;

	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++)
	{
		Simulation	s;

		begin(&s);
		wait_often(&s, locks[i], 500, 100);
		s.limit_changes = 0;
		wait_often(&s, locks[i], 2000, 100);
		changes += s.limit_changes;
		sound &= s.sound;
	}
	ok(changes <= 12 && sound, "once learned, a limit stays: %llu changes in 12000 samples", (unsigned long long) changes);

	/* where two limits are worth about the same, there is no hurry either */
	even.early = EARLY_NS;
	even.other = NEVER_NS;
	for (even.early_percent = 1; even.early_percent < 100; even.early_percent += 3)
	{
		Simulation	s;

		begin(&s);
		wait_often(&s, &even, 500, 100);
		s.limit_changes = 0;
		wait_often(&s, &even, 1000, 100);
		if (s.limit_changes > most)
			most = s.limit_changes;
		sound &= s.sound;
	}
	ok(most <= 100 && sound, "even between two that are worth the same: at most %llu changes in 1000 samples",
	   (unsigned long long) most);
}

/* It matters little in what portions the waits are handed over. */
static void
test_portions(void)
{
	static const Lock *const locks[] = {&early, &late, &never, &late_or_never};
	static const int portions[] = {5, 100, 2000};
	bool		same = true;

	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++)
	{
		for (size_t j = 0; j < sizeof(portions) / sizeof(portions[0]); j++)
		{
			Simulation	s;

			begin(&s);
			wait_often(&s, locks[i], 200000 / portions[j], portions[j]);
			same &= s.sound && (s.learner.limit > 0) == (locks[i] != &never) &&
				(locks[i] == &never || COVERS(s.learner.limit, locks[i]->early * 1.1));
		}
	}
	ok(same, "few waits at a time and many teach the same");
}

/* Samples that no lock gives. */
static void
test_any_sample(void)
{
	Simulation	s;

	begin(&s);
	for (int i = 0; i < 200000; i++)
	{
		SpinSample	sample;
		int			scale = random_next(&s.dice) % 4 == 0 ? 45 : 4;

		memset(&sample, 0, sizeof(sample));
		for (int b = 0; b < SPIN_BUCKETS; b++)
		{
			if (random_next(&s.dice) % 3 == 0)
				sample.success[b] = (random_next(&s.dice) << 14) >> (random_next(&s.dice) % scale);
		}
		if (random_next(&s.dice) % 2 == 0)
			sample.fail = random_next(&s.dice) >> (random_next(&s.dice) % 31);
		if (random_next(&s.dice) % 2 == 0)
			sample.explore_fail = random_next(&s.dice) >> (random_next(&s.dice) % 31);
		learn(&s, &sample);
		if (random_next(&s.dice) % 1000 == 0)
			spin_learner_init(&s.learner);
	}
	ok(s.sound, "whatever the samples: the limit is one, and the estimate is finite");
	memset(&s.learner.limit, 0, sizeof(s.learner.limit));
	wait_often(&s, &early, 5000, 100);
	ok(COVERS(s.learner.limit, EARLY_NS * 1.1), "and what is true then is learned after all");
}

int
main(void)
{
	test_limits();
	test_beginning();
	test_distributions();
	test_change();
	test_exploring();
	test_steadiness();
	test_portions();
	test_any_sample();
	return tap_done();
}
