/*-------------------------------------------------------------------------
 *
 * sched_action.c
 *	  What the virtual processes do.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "scheduler.h"

#define MAX_POSITIONS 32

/* What the programs know of each other, apart from memory. */
static int	nchanges[MAX_LOCKS];	/* of what a lock protects */
static int64_t published[MAX_LOCKS];	/* last value of a variable */
static bool inserted[MAX_POSITIONS];
static int	loaded[MAX_PROCESSES][MAX_ACTIONS];	/* ACT_LOAD */

/* Two cells that no lock uses. */
#define LITMUS_CELL(i) PROCESS_CELL(MAX_PROCESSES - 1 - (i), CELL_SERVED)

/*
 * Actions.
 */
static void
touch(int lock, int mode)
{
	int64_t		left = shim_load(STEP_PLAIN, LOCK_CELL(lock, CELL_LEFT));

	if (mode == MODE_EXCLUSIVE)
		shim_store(STEP_PLAIN, LOCK_CELL(lock, CELL_LEFT), left + 1);
	if (shim_load(STEP_PLAIN, LOCK_CELL(lock, CELL_RIGHT)) != left)
		fail("p%d sees what lock%d protects half changed", run.current, lock);
	if (mode == MODE_EXCLUSIVE)
	{
		shim_store(STEP_PLAIN, LOCK_CELL(lock, CELL_RIGHT), left + 1);
		nchanges[lock]++;
	}
}

static void
nested(const Action *a)
{
	bool		crosswise = a->count != 0;

	core_acquire(a->lock, a->mode);
	core_acquire(a->lock + 1, a->mode2);
	touch(a->lock, a->mode);
	if (crosswise)
		core_release(a->lock, a->mode);
	touch(a->lock + 1, a->mode2);
	core_release(a->lock + 1, a->mode2);
	if (!crosswise)
		core_release(a->lock, a->mode);
}

static void
acquire_or_wait(const Action *a)
{
	for (int i = 0; i < 2; i++)
	{
		if (core_acquire_or_wait(a->lock, a->mode))
		{
			touch(a->lock, a->mode);
			core_release(a->lock, a->mode);
			return;
		}
	}
}

static void
publish(const Action *a)
{
	core_acquire(a->lock, MODE_EXCLUSIVE);
	touch(a->lock, MODE_EXCLUSIVE);
	for (int i = 0; i < a->count; i++)
		core_update_var(a->lock, ++published[a->lock]);
	if (a->mode == MODE_EXCLUSIVE)
		core_release(a->lock, MODE_EXCLUSIVE);
	else
		core_release_clear_var(a->lock, 0);
}

static void
watch(const Action *a)
{
	int64_t		value = shim_load(STEP_RACY, LOCK_CELL(a->lock, CELL_VAR));

	for (int i = 0; i < a->count; i++)
	{
		if (core_wait_for_var(a->lock, value, &value))
			break;
	}
}

/* The semaphore's other use: sleep until somebody has done us a service. */
static void
await_service(void)
{
	int			self = run.current;
	int			absorbed = 0;

	process[self].op = OP_OTHER_WAIT;
	process[self].op_lock = -1;
	for (;;)
	{
		shim_step(STEP_PARK);
		if (run.trace)
			trace("waits for a service");
		semaphore_down(self);
		memory_acquire(self);
		if (shim_load(STEP_RACY, PROCESS_CELL(self, CELL_SERVED)) != 0)
			break;
		absorbed++;
	}
	shim_store(STEP_RACY, PROCESS_CELL(self, CELL_SERVED), 0);
	process[self].op = OP_NONE;
	while (absorbed-- > 0)
	{
		shim_step(STEP_PARK);
		semaphore_up(self);
	}
}

static void
serve(int p)
{
	shim_store(STEP_RACY, PROCESS_CELL(p, CELL_SERVED), 1);
	shim_step(STEP_PARK);
	memory_release(run.current);
	semaphore_up(p);
	if (run.trace)
		trace("serves p%d", p);
}

static void
post(int p)
{
	shim_step(STEP_PARK);
	memory_release(run.current);
	semaphore_up(p);
	process[p].stray_posts++;
	if (run.trace)
		trace("raises p%d's semaphore for no reason", p);
}

/* Hold a lock until this process is served, and post some meanwhile. */
static void
linger(const Action *a)
{
	core_acquire(a->lock, a->mode);
	for (int p = 0; p < a->count; p++)
		post(p);
	await_service();
	core_release(a->lock, a->mode);
}

/*
 * Wait until all that is to be inserted before a position is, or is not going
 * to be soon because its inserter waits too, as WaitXLogInsertionsToFinish().
 */
static void
await_insertions(int64_t position)
{
	for (int lock = 0; lock < run.program.nlocks; lock++)
	{
		int64_t		value = 0;

		while (!core_wait_for_var(lock, value, &value) && value < position)
			;
	}
	/* what the caller goes on with is behind a lock of its own */
	shim_add(CELL_RESERVED, 0);
	for (int i = 1; i < position; i++)
	{
		if (!inserted[i])
			fail("p%d believes that everything before %lld is inserted, and %d is not",
				 run.current, (long long) position, i);
	}
}

static void
insert(const Action *a)
{
	int64_t		position;

	core_acquire(a->lock, MODE_EXCLUSIVE);
	position = shim_add(CELL_RESERVED, 1);
	if (a->count != 0)
	{
		/* no room in the buffers until what is before has been written */
		core_update_var(a->lock, position);
		await_insertions(position);
	}
	inserted[position] = true;
	core_release_clear_var(a->lock, 0);
}

static void
perform(int i)
{
	const Action *a = &run.program.actions[run.current][i];

	switch (a->kind)
	{
		case ACT_SECTION:
			core_acquire(a->lock, a->mode);
			touch(a->lock, a->mode);
			core_release(a->lock, a->mode);
			break;
		case ACT_TRY:
			if (!core_conditional(a->lock, a->mode))
				break;
			touch(a->lock, a->mode);
			core_release(a->lock, a->mode);
			break;
		case ACT_OR_WAIT:
			acquire_or_wait(a);
			break;
		case ACT_NESTED:
			nested(a);
			break;
		case ACT_PUBLISH:
			publish(a);
			break;
		case ACT_WATCH:
			watch(a);
			break;
		case ACT_POST:
			post(a->count);
			break;
		case ACT_SERVE:
			serve(a->count);
			break;
		case ACT_AWAIT_SERVICE:
			await_service();
			break;
		case ACT_LINGER:
			linger(a);
			break;
		case ACT_INSERT:
			insert(a);
			break;
		case ACT_FLUSH:
			await_insertions(shim_add(CELL_RESERVED, 0) + 1);
			break;
		case ACT_STORE:
			shim_store(STEP_RACY, LITMUS_CELL(a->lock), a->count);
			break;
		case ACT_LOAD:
			loaded[run.current][i] = (int) shim_load(STEP_RACY, LITMUS_CELL(a->lock));
			break;
		case ACT_WRITE_BARRIER:
			memory_write_barrier(run.current);
			break;
		case ACT_FULL_BARRIER:
			shim_add(CELL_RESERVED, 0);
			break;
	}
}

void
actions_begin(void)
{
	memset(nchanges, 0, sizeof(nchanges));
	memset(published, 0, sizeof(published));
	memset(inserted, 0, sizeof(inserted));
}

void
actions_main(int p)
{
	for (int i = 0; i < run.program.nactions[p]; i++)
		perform(i);
	shim_step(STEP_PLAIN);
}

void
actions_check_end(void)
{
	for (int lock = 0; lock < run.program.nlocks; lock++)
	{
		if (memory_value(LOCK_CELL(lock, CELL_LEFT)) != nchanges[lock] ||
			memory_value(LOCK_CELL(lock, CELL_RIGHT)) != nchanges[lock])
			fail("of %d changes under lock%d, %lld are left", nchanges[lock], lock,
				 (long long) memory_value(LOCK_CELL(lock, CELL_RIGHT)));
	}
}

/* What was loaded, as a number whose binary digits are the loads in order. */
int
actions_loaded(void)
{
	int			number = 0;

	for (int p = 0; p < run.program.nprocesses; p++)
	{
		for (int i = 0; i < run.program.nactions[p]; i++)
		{
			if (run.program.actions[p][i].kind == ACT_LOAD)
				number = number * 2 + loaded[p][i];
		}
	}
	return number;
}
