/*-------------------------------------------------------------------------
 *
 * sched_program.c
 *	  Makes the programs of the virtual processes.
 *
 * A scenario says what kind of program a seed makes.  Those named tiny_* are
 * the same for every seed, and small enough for bounded search.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <string.h>

#include "scheduler.h"

static uint64_t dice;

static int
pick(int n)
{
	return (int) (random_next(&dice) >> 33) % n;
}

static Action *
add(Program *program, int p, ActionKind kind, int lock, int mode)
{
	Action	   *a = &program->actions[p][program->nactions[p]++];

	a->kind = kind;
	a->lock = lock;
	a->mode = mode;
	a->mode2 = MODE_EXCLUSIVE;
	a->count = 1;
	return a;
}

static void
size(Program *program, int min_processes, int max_processes, int nlocks)
{
	program->nprocesses = min_processes + pick(max_processes - min_processes + 1);
	program->nlocks = nlocks;
}

/* Few exclusive holders. */
static void
build_exclusive(Program *program)
{
	size(program, 2, 4, 1);
	for (int p = 0; p < program->nprocesses; p++)
	{
		for (int i = 1 + pick(2); i > 0; i--)
			add(program, p, ACT_SECTION, 0, MODE_EXCLUSIVE);
	}
}

static void
build_readers(Program *program)
{
	size(program, 3, 5, 1);
	for (int p = 0; p < program->nprocesses; p++)
	{
		for (int i = 1 + pick(2); i > 0; i--)
			add(program, p, pick(5) == 0 ? ACT_TRY : ACT_SECTION, 0,
				pick(3) == 0 ? MODE_EXCLUSIVE : MODE_SHARED);
	}
}

/* One lock after the other, and both at once. */
static void
build_two_locks(Program *program)
{
	size(program, 2, 5, 2);
	for (int p = 0; p < program->nprocesses; p++)
	{
		for (int i = 1 + pick(3); i > 0; i--)
		{
			Action	   *a = add(program, p, pick(3) == 0 ? ACT_NESTED : ACT_SECTION, 0, pick(2));

			a->mode2 = pick(2);
			a->count = pick(2);
			if (a->kind == ACT_SECTION)
				a->lock = pick(2);
		}
	}
}

/* As flushing the WAL: whoever did not get the lock may find the work done. */
static void
build_or_wait(Program *program)
{
	size(program, 2, 5, 1);
	for (int p = 0; p < program->nprocesses; p++)
	{
		for (int i = 1 + pick(2); i > 0; i--)
			add(program, p, pick(3) == 0 ? ACT_SECTION : ACT_OR_WAIT, 0, pick(4) == 0);
	}
}

static void
build_variable(Program *program)
{
	size(program, 2, 4, 1);
	for (int p = 0; p < program->nprocesses; p++)
	{
		for (int i = 1 + pick(2); i > 0; i--)
		{
			Action	   *a = add(program, p, pick(2) == 0 ? ACT_PUBLISH : ACT_WATCH, 0, pick(2));

			a->count = 1 + pick(2);
			if (pick(5) == 0)
				a->kind = ACT_SECTION;
		}
	}
}

static void
build_wal(Program *program)
{
	size(program, 2, 5, 1 + pick(3));
	for (int p = 0; p < program->nprocesses; p++)
	{
		for (int i = 1 + pick(2); i > 0; i--)
			add(program, p, pick(3) == 0 ? ACT_FLUSH : ACT_INSERT, pick(program->nlocks), 0)->count = pick(2);
	}
}

/* Wake-ups for something else, while locks are waited for. */
static void
build_semaphore(Program *program)
{
	size(program, 2, 5, 2);
	for (int p = 0; p < program->nprocesses; p++)
	{
		/* only a later process serves an earlier one, so they cannot block */
		if (p > 0 && pick(2) == 0 && program->nactions[p - 1] < MAX_ACTIONS)
		{
			add(program, p - 1, ACT_AWAIT_SERVICE, 0, 0);
			add(program, p, ACT_SERVE, 0, 0)->count = p - 1;
		}
		for (int i = 1 + pick(3); i > 0; i--)
		{
			if (pick(3) == 0)
				add(program, p, ACT_POST, 0, 0)->count = pick(program->nprocesses);
			else
				add(program, p, pick(4) == 0 ? ACT_OR_WAIT : ACT_SECTION, pick(2), pick(2));
		}
	}
}

/*
 * From one lock to the next, with a wake-up for something else just when the
 * real one is on its way: one process holds the first lock until others may
 * sleep, the next holds the second lock and disturbs them.
 */
static void
relay(Program *program, int nvictims)
{
	int			first = nvictims;
	int			second = nvictims + 1;

	program->nprocesses = nvictims + 2;
	program->nlocks = 2;
	for (int p = 0; p < nvictims; p++)
	{
		add(program, p, ACT_SECTION, 0, MODE_EXCLUSIVE);
		add(program, p, ACT_SECTION, 1, MODE_EXCLUSIVE);
	}
	add(program, first, ACT_LINGER, 0, MODE_EXCLUSIVE)->count = 0;
	add(program, first, ACT_SERVE, 0, 0)->count = second;
	add(program, second, ACT_SERVE, 0, 0)->count = first;
	add(program, second, ACT_LINGER, 1, MODE_EXCLUSIVE)->count = nvictims;
}

static void
build_relay(Program *program)
{
	int			nvictims = 1 + pick(2);

	relay(program, nvictims);
	for (int p = 0; p < nvictims; p++)
	{
		program->actions[p][0].kind = pick(3) == 0 ? ACT_OR_WAIT : ACT_SECTION;
		program->actions[p][0].mode = pick(2);
	}
}

/* Anything but what depends on its place in a program. */
static void
build_mixed(Program *program)
{
	static const ActionKind kinds[] = {ACT_SECTION, ACT_SECTION, ACT_SECTION, ACT_TRY, ACT_OR_WAIT,
	ACT_PUBLISH, ACT_WATCH, ACT_POST, ACT_NESTED};

	size(program, 2, 5, 1 + pick(2));
	for (int p = 0; p < program->nprocesses; p++)
	{
		for (int i = 1 + pick(4); i > 0; i--)
		{
			/* only with two locks */
			ActionKind	kind = kinds[pick(program->nlocks == 2 ? 9 : 8)];
			Action	   *a = add(program, p, kind, kind == ACT_NESTED ? 0 : pick(program->nlocks), pick(2));

			a->mode2 = pick(2);
			a->count = kind == ACT_POST || kind == ACT_NESTED ? pick(program->nprocesses) : 1 + pick(2);
		}
	}
}

/* For bounded search. */
static void
tiny(Program *program, int nprocesses, int spin_budget)
{
	program->nprocesses = nprocesses;
	program->nlocks = 1;
	program->spin_budget = spin_budget;
}

static void
build_tiny_exclusive(Program *program)
{
	tiny(program, 2, 0);
	for (int p = 0; p < 2; p++)
		add(program, p, ACT_SECTION, 0, MODE_EXCLUSIVE);
}

static void
build_tiny_spin(Program *program)
{
	tiny(program, 2, 2);
	for (int p = 0; p < 2; p++)
		add(program, p, ACT_SECTION, 0, MODE_EXCLUSIVE);
}

static void
build_tiny_three(Program *program)
{
	tiny(program, 3, 0);
	for (int p = 0; p < 3; p++)
		add(program, p, ACT_SECTION, 0, p == 2 ? MODE_SHARED : MODE_EXCLUSIVE);
}

static void
build_tiny_readers(Program *program)
{
	tiny(program, 3, 0);
	for (int p = 0; p < 3; p++)
		add(program, p, ACT_SECTION, 0, p == 0 ? MODE_EXCLUSIVE : MODE_SHARED);
}

static void
build_tiny_or_wait(Program *program)
{
	tiny(program, 3, 0);
	add(program, 0, ACT_SECTION, 0, MODE_EXCLUSIVE);
	add(program, 1, ACT_OR_WAIT, 0, MODE_EXCLUSIVE);
	add(program, 2, ACT_SECTION, 0, MODE_EXCLUSIVE);
}

static void
build_tiny_variable(Program *program)
{
	tiny(program, 2, 0);
	add(program, 0, ACT_PUBLISH, 0, MODE_SHARED);
	add(program, 1, ACT_WATCH, 0, 0);
}

static void
build_tiny_wal(Program *program)
{
	tiny(program, 2, 0);
	program->nlocks = 2;
	add(program, 0, ACT_INSERT, 0, 0);
	add(program, 1, ACT_INSERT, 1, 0);
}

static void
build_tiny_relay(Program *program)
{
	tiny(program, 0, 0);
	relay(program, 1);
}

/*
 * Programs that tell one kind of memory from another: x= and y= store 1, x?
 * and y? load, w and f are barriers, | begins the next process.
 */
static void
build_litmus(Program *program, const char *text)
{
	int			p = 0;

	tiny(program, 1, 0);
	for (; *text != '\0'; text++)
	{
		int			cell = *text == 'y';

		switch (*text)
		{
			case 'x':
			case 'y':
				add(program, p, *++text == '=' ? ACT_STORE : ACT_LOAD, cell, 0);
				break;
			case 'w':
				add(program, p, ACT_WRITE_BARRIER, 0, 0);
				break;
			case 'f':
				add(program, p, ACT_FULL_BARRIER, 0, 0);
				break;
			case '|':
				p++;
				program->nprocesses++;
				break;
		}
	}
}

static const struct
{
	const char *name;
	void		(*build) (Program *program);
	const char *litmus;
}			scenarios[] = {
	{"exclusive", build_exclusive, NULL},
	{"readers", build_readers, NULL},
	{"two_locks", build_two_locks, NULL},
	{"or_wait", build_or_wait, NULL},
	{"variable", build_variable, NULL},
	{"wal", build_wal, NULL},
	{"semaphore", build_semaphore, NULL},
	{"relay", build_relay, NULL},
	{"mixed", build_mixed, NULL},
	{"tiny_exclusive", build_tiny_exclusive, NULL},
	{"tiny_spin", build_tiny_spin, NULL},
	{"tiny_three", build_tiny_three, NULL},
	{"tiny_readers", build_tiny_readers, NULL},
	{"tiny_or_wait", build_tiny_or_wait, NULL},
	{"tiny_variable", build_tiny_variable, NULL},
	{"tiny_wal", build_tiny_wal, NULL},
	{"tiny_relay", build_tiny_relay, NULL},
	{"litmus_sb", NULL, "x=y?|y=x?"},
	{"litmus_sb_f", NULL, "x=fy?|y=fx?"},
	{"litmus_mp", NULL, "x=y=|y?x?"},
	{"litmus_mp_w", NULL, "x=wy=|y?x?"},
	{"litmus_mp_f", NULL, "x=y=|y?fx?"},
	{"litmus_mp_wf", NULL, "x=wy=|y?fx?"},
	{"litmus_corr", NULL, "x=|x?x?"},
};

#define NSCENARIOS ((int) (sizeof(scenarios) / sizeof(scenarios[0])))

int
scenario_by_name(const char *name)
{
	for (int i = 0; i < NSCENARIOS; i++)
	{
		if (strcmp(scenarios[i].name, name) == 0)
			return i;
	}
	return -1;
}

void
program_build(Program *program, int scenario, uint64_t seed)
{
	dice = random_seed(seed, 0);
	program->spin_budget = -1;
	memset(program->nactions, 0, sizeof(program->nactions));
	if (scenarios[scenario].litmus)
		build_litmus(program, scenarios[scenario].litmus);
	else
		scenarios[scenario].build(program);
}

/* In one line. */
const char *
program_describe(int p)
{
	static char text[512];
	size_t		used = 0;

	text[0] = '\0';
	for (int i = 0; i < run.program.nactions[p]; i++)
	{
		const Action *a = &run.program.actions[p][i];
		const char *mode = a->mode == MODE_SHARED ? "shared" : "exclusive";
		const char *separator = i > 0 ? "; " : "";

#define SAY(...) used += snprintf(text + used, sizeof(text) - used, __VA_ARGS__)
		switch (a->kind)
		{
			case ACT_SECTION:
				SAY("%slock%d %s", separator, a->lock, mode);
				break;
			case ACT_TRY:
				SAY("%slock%d %s if free", separator, a->lock, mode);
				break;
			case ACT_OR_WAIT:
				SAY("%slock%d %s or wait", separator, a->lock, mode);
				break;
			case ACT_NESTED:
				SAY("%slock%d %s, in it lock%d %s", separator, a->lock, mode, a->lock + 1,
					a->mode2 == MODE_SHARED ? "shared" : "exclusive");
				break;
			case ACT_PUBLISH:
				SAY("%spublish under lock%d, %d times", separator, a->lock, a->count);
				break;
			case ACT_WATCH:
				SAY("%swatch lock%d's variable, %d times", separator, a->lock, a->count);
				break;
			case ACT_POST:
				SAY("%spost p%d", separator, a->count);
				break;
			case ACT_SERVE:
				SAY("%sserve p%d", separator, a->count);
				break;
			case ACT_AWAIT_SERVICE:
				SAY("%sawait service", separator);
				break;
			case ACT_LINGER:
				SAY("%slock%d %s, in it post %d and await service", separator, a->lock, mode, a->count);
				break;
			case ACT_INSERT:
				SAY("%sinsert under lock%d%s", separator, a->lock, a->count ? ", waiting for room" : "");
				break;
			case ACT_FLUSH:
				SAY("%sflush", separator);
				break;
			case ACT_STORE:
				SAY("%sstore %d", separator, a->lock);
				break;
			case ACT_LOAD:
				SAY("%sload %d", separator, a->lock);
				break;
			case ACT_WRITE_BARRIER:
				SAY("%swrite barrier", separator);
				break;
			case ACT_FULL_BARRIER:
				SAY("%sfull barrier", separator);
				break;
		}
	}
	return text;
}
