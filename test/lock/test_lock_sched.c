/*-------------------------------------------------------------------------
 *
 * test_lock_sched.c
 *	  Runs the lock core under the deterministic scheduler.
 *
 *	test_lock_sched					the plan, in TAP
 *	test_lock_sched hunt [brief]	the plan until the first failure, for mutants
 *	test_lock_sched deep MINUTES [SEED]	new seeds and wider bounds
 *	test_lock_sched replay SCHEDULE	one schedule, step by step
 *
 * A schedule is named memory.strategy.scenario.seed, for instance
 * arm.priority.wal.1f; for bounded search the strategy has the number of
 * deviations behind it, an f if they may be at plain accesses too, and instead
 * of the seed there are the decisions that deviate.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "scheduler.h"
#include "tap.h"

#define NROUNDS 500				/* each runs so many schedules */
#define NPER_ROUND 20			/* of every kind */
#define NFIRST_ROUNDS 50		/* of a hunt, before its bounded searches */

static const char *const memory_names[] = {"plain", "x86", "arm"};
static const char *const strategy_names[] = {"random", "priority", "bounded"};

/* Each with random and with priority-based schedules, on x86 and arm64. */
static const char *const random_scenarios[] = {
	"exclusive", "readers", "two_locks", "or_wait", "variable", "wal", "semaphore", "relay", "mixed"
};

static const struct
{
	MemoryKind	memory;
	int			deviations;
	bool		plain_steps;
	const char *scenario;
}			bounded_plan[] = {
	{MEMORY_ARM, 3, false, "tiny_relay"},
	{MEMORY_X86, 3, false, "tiny_relay"},
	{MEMORY_PLAIN, 6, false, "tiny_exclusive"},
	{MEMORY_PLAIN, 4, true, "tiny_exclusive"},
	{MEMORY_PLAIN, 6, false, "tiny_spin"},
	{MEMORY_PLAIN, 4, false, "tiny_three"},
	{MEMORY_PLAIN, 4, false, "tiny_readers"},
	{MEMORY_PLAIN, 4, false, "tiny_or_wait"},
	{MEMORY_PLAIN, 6, false, "tiny_variable"},
	{MEMORY_PLAIN, 4, false, "tiny_wal"},
	{MEMORY_X86, 5, false, "tiny_exclusive"},
	{MEMORY_X86, 4, false, "tiny_variable"},
	{MEMORY_ARM, 5, false, "tiny_exclusive"},
	{MEMORY_ARM, 4, false, "tiny_variable"},
};

/*
 * Is memory modelled as it should be?  Of all schedules of two processes, may
 * some give these loads?
 */
static const struct
{
	const char *scenario;
	int			loaded;
	bool		possible[3];	/* by kind of memory */
	const char *what;
}			litmus_plan[] = {
	{"litmus_sb", 0, {false, true, true}, "each is ahead of the other's store"},
	{"litmus_sb_f", 0, {false, false, false}, "the same with full barriers"},
	{"litmus_mp", 2, {false, false, true}, "the second store is seen without the first"},
	{"litmus_mp_w", 2, {false, false, true}, "the same with a write barrier"},
	{"litmus_mp_f", 2, {false, false, true}, "the same with a barrier between the loads"},
	{"litmus_mp_wf", 2, {false, false, false}, "the same with both barriers"},
	{"litmus_mp_wf", 3, {true, true, true}, "both stores are seen"},
	{"litmus_corr", 2, {false, false, false}, "one cell goes back in time"},
};

#define LENGTH(array) ((int) (sizeof(array) / sizeof((array)[0])))

static uint64_t nschedules;
static uint64_t nsteps;
static char failed_schedule[768];

static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static bool
run_counted(MemoryKind memory, Strategy strategy, int scenario, uint64_t seed)
{
	bool		passed = run_schedule(memory, strategy, scenario, seed);

	nschedules++;
	nsteps += run.steps;
	return passed;
}

static void
explain(void)
{
	printf("#   %s\n#   make -C test/lock replay SEED=%s", run_failure(), failed_schedule);
	if (core_mutant)
		printf(" MUTANT=%s", core_mutant);
	printf("\n");
}

/*
 * So many seeds, beginning with one.
 */
static bool
run_seeds(MemoryKind memory, Strategy strategy, const char *name, uint64_t first, int n)
{
	int			scenario = scenario_by_name(name);

	for (int i = 0; i < n; i++)
	{
		if (!run_counted(memory, strategy, scenario, first + i))
		{
			snprintf(failed_schedule, sizeof(failed_schedule), "%s.%s.%s.%" PRIx64,
					 memory_names[memory], strategy_names[strategy], name, first + i);
			return false;
		}
	}
	return true;
}

/*
 * All schedules with a bounded number of deviations, or as many as fit in the
 * time.
 */
static bool
run_bounded(MemoryKind memory, int deviations, bool plain_steps, const char *name, double until, bool *complete)
{
	int			scenario = scenario_by_name(name);

	*complete = true;
	bounded_begin(deviations, plain_steps);
	do
	{
		if (!run_counted(memory, STRATEGY_BOUNDED, scenario, 0))
		{
			snprintf(failed_schedule, sizeof(failed_schedule), "%s.bounded%d%s.%s.%s", memory_names[memory],
					 deviations, plain_steps ? "f" : "", name, bounded_get());
			return false;
		}
		if (until > 0 && nschedules % 1024 == 0 && seconds() > until)
		{
			*complete = false;
			break;
		}
	} while (bounded_advance());
	return true;
}

/*
 * The plan.
 */
static void
test_bounded(int i)
{
	uint64_t	before = nschedules;
	bool		complete;
	bool		passed = run_bounded(bounded_plan[i].memory, bounded_plan[i].deviations, bounded_plan[i].plain_steps,
									 bounded_plan[i].scenario, 0, &complete);

	ok(passed, "%s, %s: all %llu schedules with at most %d deviations%s",
	   bounded_plan[i].scenario, memory_names[bounded_plan[i].memory],
	   (unsigned long long) (nschedules - before), bounded_plan[i].deviations,
	   bounded_plan[i].plain_steps ? " anywhere" : "");
	if (!passed)
		explain();
}

static void
test_litmus(int i)
{
	int			scenario = scenario_by_name(litmus_plan[i].scenario);

	for (int memory = MEMORY_PLAIN; memory <= MEMORY_ARM; memory++)
	{
		bool		seen = false;

		bounded_begin(8, true);
		do
			seen |= run_counted(memory, STRATEGY_BOUNDED, scenario, 0) && actions_loaded() == litmus_plan[i].loaded;
		while (bounded_advance());
		ok(seen == litmus_plan[i].possible[memory], "%s, %s: %s: %s", litmus_plan[i].scenario,
		   memory_names[memory], litmus_plan[i].what, seen ? "possible" : "impossible");
	}
}

static void
test_seeds(MemoryKind memory, Strategy strategy, const char *scenario)
{
	bool		passed = run_seeds(memory, strategy, scenario, 1, NROUNDS * NPER_ROUND);

	ok(passed, "%s, %s: %d %s schedules", scenario, memory_names[memory],
	   NROUNDS * NPER_ROUND, strategy_names[strategy]);
	if (!passed)
		explain();
}

static void
run_plan(void)
{
	for (int i = 0; i < LENGTH(litmus_plan); i++)
		test_litmus(i);
	for (int i = 0; i < LENGTH(random_scenarios); i++)
	{
		for (int memory = MEMORY_X86; memory <= MEMORY_ARM; memory++)
		{
			test_seeds(memory, STRATEGY_RANDOM, random_scenarios[i]);
			test_seeds(memory, STRATEGY_PRIORITY, random_scenarios[i]);
		}
	}
	for (int i = 0; i < LENGTH(bounded_plan); i++)
		test_bounded(i);
}

/* The nth kind of random schedules, some seeds of it. */
static bool
run_kind(int n, uint64_t first)
{
	return run_seeds(n & 1 ? MEMORY_ARM : MEMORY_X86, n & 2 ? STRATEGY_PRIORITY : STRATEGY_RANDOM,
					 random_scenarios[n / 4], first, NPER_ROUND);
}

#define NKINDS (LENGTH(random_scenarios) * 4)

/*
 * The same schedules, in an order that finds something early; or only the
 * first rounds.
 */
static bool
hunt(bool brief)
{
	bool		complete;

	for (int round = 0; round < NROUNDS; round++)
	{
		for (int n = 0; n < NKINDS; n++)
		{
			if (!run_kind(n, 1 + round * NPER_ROUND))
				return true;
		}
		if (round + 1 != NFIRST_ROUNDS)
			continue;
		if (brief)
			break;
		for (int i = 0; i < LENGTH(bounded_plan); i++)
		{
			if (!run_bounded(bounded_plan[i].memory, bounded_plan[i].deviations, bounded_plan[i].plain_steps,
							 bounded_plan[i].scenario, 0, &complete))
				return true;
		}
	}
	return false;
}

/*
 * For so long: half of the time random, half of it bounded, one deviation more
 * than in the plan, then two more.
 */
static void
run_deep(double minutes, uint64_t seed)
{
	double		start = seconds();
	double		said = start;
	double		middle = start + minutes * 30;
	bool		passed = true;
	int			complete_searches = 0;

	printf("# seeds from %llx\n", (unsigned long long) seed);
	while (passed && seconds() < middle)
	{
		for (int n = 0; passed && n < NKINDS; n++)
			passed = run_kind(n, seed);
		seed += NPER_ROUND;
		if (seconds() > said + 30)
		{
			said = seconds();
			printf("# %.0f s: %llu schedules\n", said - start, (unsigned long long) nschedules);
			fflush(stdout);
		}
	}
	ok(passed, "random and priority-based: %llu schedules", (unsigned long long) nschedules);
	if (!passed)
		explain();

	for (int more = 1; more <= 2; more++)
	{
		for (int i = 0; i < LENGTH(bounded_plan); i++)
		{
			int			left = (3 - more) * LENGTH(bounded_plan) - i;
			uint64_t	before = nschedules;
			bool		complete;
			double		until = seconds() + (start + minutes * 60 - seconds()) / left;

			passed = run_bounded(bounded_plan[i].memory, bounded_plan[i].deviations + more,
								 bounded_plan[i].plain_steps, bounded_plan[i].scenario, until, &complete);
			complete_searches += complete;
			ok(passed, "%s, %s: %s%llu schedules with at most %d deviations%s",
			   bounded_plan[i].scenario, memory_names[bounded_plan[i].memory], complete ? "all " : "the first ",
			   (unsigned long long) (nschedules - before), bounded_plan[i].deviations + more,
			   bounded_plan[i].plain_steps ? " anywhere" : "");
			if (!passed)
				explain();
			fflush(stdout);
		}
	}
	printf("# %llu schedules, %llu steps in %.0f s; %d bounded searches complete\n", (unsigned long long) nschedules,
		   (unsigned long long) nsteps, seconds() - start, complete_searches);
	printf("# figure: schedules explored = %llu\n", (unsigned long long) nschedules);
}

/*
 * One schedule by its name; 0 if it passed, 1 if it failed, 2 if there is no
 * such schedule.
 */
static int
name_index(const char *const *names, int n, const char *name, size_t length)
{
	for (int i = 0; i < n; i++)
	{
		if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0)
			return i;
	}
	return -1;
}

static int
replay(char *name)
{
	char	   *parts[4] = {strtok(name, "."), strtok(NULL, "."), strtok(NULL, "."), strtok(NULL, "")};
	int			memory,
				strategy,
				scenario;
	uint64_t	seed = 0;
	bool		passed;

	if (parts[3] == NULL)
		return 2;
	memory = name_index(memory_names, LENGTH(memory_names), parts[0], strlen(parts[0]));
	strategy = name_index(strategy_names, LENGTH(strategy_names), parts[1], strcspn(parts[1], "0123456789"));
	scenario = scenario_by_name(parts[2]);
	if (memory < 0 || strategy < 0 || scenario < 0)
		return 2;
	if (strategy == STRATEGY_BOUNDED)
	{
		char	   *end;
		int			deviations = strtol(parts[1] + strlen(strategy_names[STRATEGY_BOUNDED]), &end, 10);

		bounded_begin(deviations, *end == 'f');
		if (!bounded_set(parts[3]))
			return 2;
	}
	else
		seed = strtoull(parts[3], NULL, 16);

	if (core_mutant)
		printf("the core is the mutant %s\n", core_mutant);
	run.trace = true;
	passed = run_schedule(memory, strategy, scenario, seed);
	printf("%s after %u steps\n", passed ? "passed" : "failed", run.steps);
	return !passed;
}

int
main(int argc, char **argv)
{
	double		start = seconds();

	if (argc == 1)
	{
		double		elapsed;

		run_plan();
		elapsed = seconds() - start;
		printf("# %llu schedules, %llu steps, %.1f s: %.0f schedules per second\n", (unsigned long long) nschedules,
			   (unsigned long long) nsteps, elapsed, nschedules / elapsed);
		printf("# figure: schedules explored = %llu\n", (unsigned long long) nschedules);
		return tap_done();
	}
	if (argc >= 2 && argc <= 3 && strcmp(argv[1], "hunt") == 0)
	{
		bool		caught = hunt(argc == 3);

		printf("%s %llu %.3f %s %s\n", caught ? "caught" : "missed", (unsigned long long) nschedules,
			   seconds() - start, caught ? failed_schedule : "-", run_failure());
		return 0;
	}
	if (argc >= 3 && argc <= 4 && strcmp(argv[1], "deep") == 0)
	{
		run_deep(strtod(argv[2], NULL), argc == 4 ? strtoull(argv[3], NULL, 16) : (uint64_t) time(NULL) << 16);
		return tap_done();
	}
	if (argc == 3 && strcmp(argv[1], "replay") == 0)
	{
		int			result = replay(argv[2]);

		if (result < 2)
			return result;
		fprintf(stderr, "there is no schedule of that name\n");
		return 2;
	}
	fprintf(stderr, "usage: %s [hunt [brief] | deep MINUTES [SEED] | replay SCHEDULE]\n", argv[0]);
	return 2;
}
