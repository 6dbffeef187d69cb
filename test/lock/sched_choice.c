/*-------------------------------------------------------------------------
 *
 * sched_choice.c
 *	  Which process goes next, and which store becomes visible when.
 *
 * Random: at each step go on with the same process, or switch to any other;
 * now and then make a store visible.  How often is chosen anew for each run,
 * so that some have long stretches and others none.
 *
 * Priority (Burckhardt, Kothari, Musuvathi and Nagarakatte, "A Randomized
 * Scheduler with Probabilistic Guarantees of Finding Bugs", 2010): the process
 * with the highest priority goes on until it has to wait; at a few random
 * steps, the one that runs falls behind all others.  Store buffers take part
 * as if they were processes.
 *
 * Bounded: a run without deviations switches only when a process has to wait,
 * makes every store visible at once, and loads what is current.  Each other
 * choice is a deviation; all runs with at most so many are enumerated, depth
 * first.  The choice of who follows one that has to wait is free.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler.h"

#define MAX_DECISIONS	4096
#define MAX_CHANGES		4

static uint64_t state;			/* of the random numbers of the schedule */

/* chances, in 256ths: to switch, of a store to become visible, ... */
static int	switch_chance;
static int	flush_chance;
static int	early_chance;
static int	linger_chance;
static bool only_racy;			/* switch only where others can tell */

/* priority */
#define NAGENTS (2 * MAX_PROCESSES)
static int	priority[NAGENTS];	/* higher goes first; buffers behind processes */
static int	lowest;
static int	nchanges;
static uint32_t change_at[MAX_CHANGES];
static uint32_t nsteps;			/* those that count */

/* bounded */
typedef struct Decision
{
	short		chosen;
	short		noptions;
	bool		costs;
} Decision;

static Decision path[MAX_DECISIONS];
static int	npath;				/* prescribed by bounded_advance() */
static int	depth;				/* decisions so far */
static int	deviations;
static int	max_deviations;
static bool plain_steps;
static uint32_t yielded_at[MAX_PROCESSES];	/* memory's time, plus 1 */

uint64_t
random_next(uint64_t *s)
{
	uint64_t	z = (*s += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Independent sequences from one seed. */
uint64_t
random_seed(uint64_t seed, int stream)
{
	uint64_t	s = seed * 8 + stream;

	return random_next(&s);
}

static int
random_below(int n)
{
	return (int) (random_next(&state) >> 33) % n;
}

static bool
chance(int of_256)
{
	return random_below(256) < of_256;
}

static void
begin_priorities(void)
{
	int			order[NAGENTS];
	int			horizon = 32 << random_below(5);

	for (int i = 0; i < NAGENTS; i++)
	{
		int			j = random_below(i + 1);

		if (j != i)
			order[i] = order[j];
		order[j] = i;
	}
	for (int i = 0; i < NAGENTS; i++)
		priority[order[i]] = i;
	lowest = 0;
	nchanges = random_below(MAX_CHANGES + 1);
	for (int i = 0; i < nchanges; i++)
		change_at[i] = random_below(horizon);
}

void
choice_begin(void)
{
	static const int switch_chances[] = {12, 40, 100, 180};
	static const int flush_chances[] = {4, 24, 128, 224};
	static const int early_chances[] = {0, 32, 128};
	static const int linger_chances[] = {0, 32, 96};

	state = random_seed(run.seed, 1);
	switch_chance = switch_chances[random_below(4)];
	flush_chance = flush_chances[random_below(4)];
	early_chance = early_chances[random_below(3)];
	linger_chance = linger_chances[random_below(3)];
	only_racy = random_below(2) == 0;
	nsteps = 0;
	if (run.strategy == STRATEGY_PRIORITY)
		begin_priorities();
	depth = 0;
	deviations = 0;
	memset(yielded_at, 0, sizeof(yielded_at));
}

/*
 * Take the next decision of a bounded search.
 */
static int
decide(int noptions, bool costs)
{
	Decision   *decision;

	if (noptions == 1 || (costs && deviations >= max_deviations))
		return 0;
	if (depth == MAX_DECISIONS)
		fail("more than %d decisions", MAX_DECISIONS);
	decision = &path[depth];
	if (depth >= npath)
		decision->chosen = 0;
	else if (decision->chosen >= noptions)
		fail("no such decision: the schedule is not of this program");
	depth++;
	decision->noptions = noptions;
	decision->costs = costs;
	deviations += costs && decision->chosen > 0;
	return decision->chosen;
}

void
bounded_begin(int deviations_allowed, bool at_plain_steps)
{
	npath = 0;
	max_deviations = deviations_allowed;
	plain_steps = at_plain_steps;
}

/* The next schedule; false if there is none. */
bool
bounded_advance(void)
{
	for (npath = depth; npath > 0; npath--)
	{
		Decision   *last = &path[npath - 1];

		/* decisions that cost too much were not offered, so this one may */
		if (last->chosen + 1 < last->noptions)
		{
			last->chosen++;
			return true;
		}
	}
	return false;
}

/* The decisions that differ from the first option, as position:option. */
const char *
bounded_get(void)
{
	static char text[512];
	size_t		used = 0;

	text[0] = '\0';
	for (int i = 0; i < depth && used < sizeof(text) - 16; i++)
	{
		if (path[i].chosen > 0)
			used += snprintf(text + used, sizeof(text) - used, "%s%d:%d", used ? "," : "", i, path[i].chosen);
	}
	return used ? text : "0";
}

bool
bounded_set(const char *decisions)
{
	memset(path, 0, sizeof(path));
	npath = 0;
	while (strchr(decisions, ':'))
	{
		char	   *end;
		long		position = strtol(decisions, &end, 10);
		long		option = *end == ':' ? strtol(end + 1, &end, 10) : 0;

		if (position < npath || position >= MAX_DECISIONS || option <= 0)
			return false;
		path[position].chosen = option;
		npath = position + 1;
		decisions = end + (*end == ',');
	}
	return true;
}

/*
 * Who goes next?  Somebody can.
 */
static int
nth_runnable(int n, int except)
{
	for (int p = 0; p < run.program.nprocesses; p++)
	{
		if (p != except && is_runnable(p) && n-- == 0)
			return p;
	}
	return except;
}

static int
count_runnable(int except)
{
	int			n = 0;

	for (int p = 0; p < run.program.nprocesses; p++)
		n += p != except && is_runnable(p);
	return n;
}

static int
next_at_random(StepKind kind)
{
	int			self = run.current;
	bool		can_stay = is_runnable(self);
	int			nothers = count_runnable(self);

	while (chance(flush_chance))
	{
		int			p = random_below(run.program.nprocesses);
		int			n = memory_flushable(p);

		if (n == 0)
			break;
		memory_flush(p, random_below(n));
	}
	if (nothers == 0 || (can_stay && kind != STEP_YIELD &&
						 ((only_racy && kind == STEP_PLAIN) || !chance(switch_chance))))
		return self;
	return nth_runnable(random_below(nothers), self);
}

static int
next_by_priority(StepKind kind)
{
	int			self = run.current;

	if (kind == STEP_YIELD)
		priority[self] = --lowest;
	if (kind != STEP_PLAIN || !only_racy)
	{
		nsteps++;
		for (int i = 0; i < nchanges; i++)
		{
			if (change_at[i] == nsteps)
				priority[self] = --lowest;
		}
	}
	for (;;)
	{
		int			best = -1;

		for (int p = 0; p < run.program.nprocesses; p++)
		{
			if (is_runnable(p) && (best < 0 || priority[p] > priority[best]))
				best = p;
			if (memory_flushable(p) > 0 &&
				(best < 0 || priority[MAX_PROCESSES + p] > priority[best]))
				best = MAX_PROCESSES + p;
		}
		if (best < MAX_PROCESSES)
			return best;
		best -= MAX_PROCESSES;
		memory_flush(best, random_below(memory_flushable(best)));
	}
}

/*
 * Who has yielded is not chosen again before memory has changed, or else two
 * could yield to each other for ever, while the one they wait for stands by.
 */
static int
next_of_waiting(int self)
{
	int			candidates[MAX_PROCESSES];
	int			n = 0;

	for (int p = 0; p < run.program.nprocesses; p++)
	{
		if (p != self && is_runnable(p) && yielded_at[p] != memory_time() + 1)
			candidates[n++] = p;
	}
	return n > 0 ? candidates[decide(n, false)] : nth_runnable(0, self);
}

static int
next_bounded(StepKind kind)
{
	int			self = run.current;
	int			nothers = count_runnable(self);
	int			choice;

	if (kind == STEP_YIELD)
		yielded_at[self] = memory_time() + 1;
	if (!is_runnable(self) || (kind == STEP_YIELD && nothers > 0))
		return next_of_waiting(self);
	if (kind == STEP_PLAIN && !plain_steps)
		return self;
	choice = decide(nothers + 1, true);
	return choice == 0 ? self : nth_runnable(choice - 1, self);
}

int
choose_next(StepKind kind)
{
	switch (run.strategy)
	{
		case STRATEGY_RANDOM:
			return next_at_random(kind);
		case STRATEGY_PRIORITY:
			return next_by_priority(kind);
		case STRATEGY_BOUNDED:
			return next_bounded(kind);
	}
	abort();
}

/* Does a store stay in the buffer?  If it does for a while, next_*() flush it. */
Hold
choose_hold(void)
{
	if (run.strategy == STRATEGY_BOUNDED)
		return decide(2, true) == 1 ? HOLD_LONG : HOLD_NOT;
	return chance(linger_chance) ? HOLD_LONG : HOLD_A_WHILE;
}

/* Which of so many versions does a load return?  0 is the current one. */
int
choose_version(int nversions)
{
	if (run.strategy == STRATEGY_BOUNDED)
		return decide(nversions, true);
	return chance(early_chance) ? random_below(nversions) : 0;
}

/* How long does the setting in force now let a process spin? */
uint32_t
choose_budget(void)
{
	static const uint32_t budgets[] = {0, 0, 1, 2, 5, 11};

	if (run.program.spin_budget >= 0)
		return run.program.spin_budget;
	return budgets[random_below(6)];
}

/*
 * ... and how many before the first look, which may be more than the budget.
 */
uint32_t
choose_step(void)
{
	return run.program.spin_budget >= 0 ? 1 : 1 + random_below(4);
}
