/*-------------------------------------------------------------------------
 *
 * sched_shim.c
 *	  How the core's accesses reach the scheduler and the memory.
 *
 * Atomic operations, states, modes, variables, semaphores and pauses come
 * through the shim.  The wait list is plain C in the core, so sched_core.c is
 * compiled with -fsanitize=thread but linked without its library: the compiler
 * then calls __tsan_read4() or __tsan_write4(), which are below, before each
 * plain access.  Memory itself is in sched_memory.c; the lists and links here
 * are only where values are passed.  Before a read, what this process may see
 * now is put there; after a write, when the next step of this process begins,
 * what was written is taken from there.
 *
 *-------------------------------------------------------------------------
 */
#include "sched_shim.h"

#define SELF (run.current)

static lc_list lists[MAX_LOCKS];
static lc_link links[MAX_PROCESSES];
static int	written[MAX_PROCESSES]; /* by the step before: cell + 1, or 0 */

static int *
address_of(int cell)
{
	if (cell < PROCESS_CELL(0, 0))
	{
		lc_list    *list = &lists[cell / CELLS_PER_LOCK];

		return cell % CELLS_PER_LOCK == CELL_HEAD ? &list->head : &list->tail;
	}
	else
	{
		lc_link    *link = &links[(cell - PROCESS_CELL(0, 0)) / CELLS_PER_PROCESS];

		return (cell - PROCESS_CELL(0, 0)) % CELLS_PER_PROCESS == CELL_NEXT ? &link->next : &link->prev;
	}
}

/* The cell that is at this address, or -1. */
static int
cell_of(const void *address)
{
	uintptr_t	in_lists = (uintptr_t) address - (uintptr_t) lists;
	uintptr_t	in_links = (uintptr_t) address - (uintptr_t) links;

	if (in_lists < sizeof(lists))
		return LOCK_CELL(in_lists / sizeof(lc_list),
						 in_lists % sizeof(lc_list) == 0 ? CELL_HEAD : CELL_TAIL);
	if (in_links < sizeof(links))
		return PROCESS_CELL(in_links / sizeof(lc_link),
							in_links % sizeof(lc_link) == 0 ? CELL_NEXT : CELL_PREV);
	return -1;
}

void
shim_begin(void)
{
	for (int p = 0; p < MAX_PROCESSES; p++)
		written[p] = 0;
}

/*
 * Begin a step: first end the last one, if that was a plain write.
 */
static void
end_write(void)
{
	int			cell = written[SELF] - 1;
	int64_t		value;

	if (cell < 0)
		return;
	written[SELF] = 0;
	value = *address_of(cell);
	memory_store(SELF, cell, value);
	if (run.trace)
		trace("%s = %s", memory_cell_name(cell), memory_value_name(cell, value));
}

void
shim_step(StepKind kind)
{
	end_write();
	step(kind);
}

int64_t
shim_load(StepKind kind, int cell)
{
	int64_t		value;

	shim_step(kind);
	value = memory_load(SELF, cell);
	if (run.trace)
		trace("%s is %s", memory_cell_name(cell), memory_value_name(cell, value));
	return value;
}

void
shim_store(StepKind kind, int cell, int64_t value)
{
	shim_step(kind);
	memory_store(SELF, cell, value);
	if (run.trace)
		trace("%s = %s", memory_cell_name(cell), memory_value_name(cell, value));
}

/* An atomic addition to something that is no lock. */
int64_t
shim_add(int cell, int64_t n)
{
	int64_t		value;

	shim_step(STEP_RACY);
	value = memory_lock(SELF, cell) + n;
	memory_put(SELF, cell, value);
	if (run.trace)
		trace("%s += %lld is %lld", memory_cell_name(cell), (long long) n, (long long) value);
	return value;
}

static uint32_t
change_word(SimLock *lock, uint32_t old, uint32_t new, const char *how)
{
	int			cell = LOCK_CELL(*lock, CELL_WORD);

	memory_put(SELF, cell, new);
	if (run.trace)
		trace("lock%d.word %s: %s -> %s", *lock, how,
			  memory_value_name(cell, old), memory_value_name(cell, new));
	check_word_change(SELF, *lock, old, new);
	return old;
}

static uint32_t
lock_word(SimLock *lock)
{
	shim_step(STEP_RACY);
	return (uint32_t) memory_lock(SELF, LOCK_CELL(*lock, CELL_WORD));
}

uint32_t
lc_read(SimLock *lock)
{
	return (uint32_t) shim_load(STEP_RACY, LOCK_CELL(*lock, CELL_WORD));
}

bool
lc_cas(SimLock *lock, uint32_t *old, uint32_t new)
{
	uint32_t	found = lock_word(lock);

	if (found == *old)
	{
		change_word(lock, found, new, "compare-and-swap");
		return true;
	}
	if (run.trace)
		trace("lock%d.word compare-and-swap fails: is %s", *lock,
			  memory_value_name(LOCK_CELL(*lock, CELL_WORD), found));
	*old = found;
	return false;
}

uint32_t
lc_fetch_or(SimLock *lock, uint32_t bits)
{
	uint32_t	old = lock_word(lock);

	return change_word(lock, old, old | bits, "or");
}

uint32_t
lc_fetch_and(SimLock *lock, uint32_t bits)
{
	uint32_t	old = lock_word(lock);

	return change_word(lock, old, old & bits, "and");
}

uint32_t
lc_fetch_sub(SimLock *lock, uint32_t n)
{
	uint32_t	old = lock_word(lock);

	return change_word(lock, old, old - n, "subtract");
}

/* For mutants: a store, where there should be an atomic operation. */
bool
lc_mutant_store(SimLock *lock, uint32_t new)
{
	change_word(lock, lock_word(lock), new, "store");
	return true;
}

void
lc_write_barrier(void)
{
	end_write();
	memory_write_barrier(SELF);
}

lc_list *
lc_waiters(SimLock *lock)
{
	return &lists[*lock];
}

lc_link *
lc_link_of(int p)
{
	if (p < 0 || p >= run.program.nprocesses)
		fail("link of process %d, which does not exist", p);
	return &links[p];
}

int
lc_wait_state(int p)
{
	return (int) shim_load(STEP_RACY, PROCESS_CELL(p, CELL_STATE));
}

void
lc_set_wait_state(int p, int state)
{
	shim_store(STEP_RACY, PROCESS_CELL(p, CELL_STATE), state);
	if (p != SELF)
		process[p].op_taken_off = true;
}

int
lc_wait_mode(int p)
{
	return (int) shim_load(STEP_PLAIN, PROCESS_CELL(p, CELL_MODE));
}

void
lc_set_wait_mode(int p, int mode)
{
	shim_store(STEP_PLAIN, PROCESS_CELL(p, CELL_MODE), mode);
}

int
lc_self(void)
{
	return SELF;
}

void
lc_check_can_wait(void)
{
	if (lc_wait_state(SELF) != core_bits.not_waiting)
		fail("p%d queues for a lock while it waits for another one", SELF);
}

void
lc_park(int p)
{
	shim_step(STEP_PARK);
	if (run.memory != MEMORY_ARM)
		memory_release(SELF);	/* what takes a semaphore is a locked instruction */
	if (run.trace && process[p].semaphore == 0)
		trace("sleeps");
	semaphore_down(p);
	memory_acquire(SELF);
	if (run.trace)
		trace("takes its semaphore, leaving %d", process[p].semaphore);
}

void
lc_unpark(int p)
{
	shim_step(STEP_PARK);
	memory_release(SELF);
	semaphore_up(p);
	if (run.trace)
		trace("raises p%d's semaphore to %d", p, process[p].semaphore);
}

void
lc_pause(uint32_t n)
{
	(void) n;
	shim_step(STEP_PLAIN);
}

void
lc_delay_begin(int *delay)
{
	*delay = 0;
}

void
lc_delay(int *delay)
{
	++*delay;
	shim_step(STEP_YIELD);
}

void
lc_delay_end(SimLock *lock, int *delay)
{
	(void) lock;
	if (*delay == 0)
		fail("p%d did not delay", SELF);
}

void
lc_spin_begin(SimLock *lock, SimSpin *spin)
{
	(void) lock;
	shim_step(STEP_PLAIN);
	spin->budget = choose_budget();
	spin->spent = 0;
	spin->step = choose_step();
	if (spin->budget > 0)
		process[SELF].spins++;
	if (run.trace && spin->budget > 0)
		trace("may spin for %u pauses", spin->budget);
}

void
lc_spin_end(SimLock *lock, SimSpin *spin, bool success)
{
	(void) lock;
	process[SELF].spins--;
	if (spin->spent > spin->budget || (!success && spin->spent < spin->budget))
		fail("p%d spun for %u of %u pauses", SELF, spin->spent, spin->budget);
}

void
lc_wait_begin(SimLock *lock, int mode, int *wait)
{
	(void) lock;
	shim_step(STEP_PLAIN);		/* reads the clock */
	*wait = mode;
	process[SELF].sleeps++;
}

void
lc_wait_end(SimLock *lock, int mode, int *wait)
{
	(void) lock;
	shim_step(STEP_PLAIN);
	process[SELF].sleeps--;
	if (*wait != mode)
		fail("p%d ends a wait that it did not begin", SELF);
}

void
lc_count_dequeue(SimLock *lock)
{
	(void) lock;
}

uint64_t
lc_var_peek(SimVar *var)
{
	return (uint64_t) shim_load(STEP_RACY, *var);
}

void
lc_var_write(SimVar *var, uint64_t value)
{
	shim_store(STEP_RACY, *var, (int64_t) value);
}

/*
 * What the compiler calls in sched_core.c.
 */
extern void __tsan_init(void);
extern void __tsan_func_entry(void *pc);
extern void __tsan_func_exit(void);
extern void __tsan_read4(void *address);
extern void __tsan_write4(void *address);

void
__tsan_init(void)
{
}

void
__tsan_func_entry(void *pc)
{
	(void) pc;
}

void
__tsan_func_exit(void)
{
}

void
__tsan_read4(void *address)
{
	int			cell = cell_of(address);

	if (cell < 0)
		return;					/* the process's own stack */
	shim_step(STEP_PLAIN);
	*(int *) address = (int) memory_load(SELF, cell);
	if (run.trace)
		trace("%s is %s", memory_cell_name(cell), memory_value_name(cell, *(int *) address));
}

void
__tsan_write4(void *address)
{
	int			cell = cell_of(address);

	if (cell < 0)
		return;
	shim_step(STEP_PLAIN);
	written[SELF] = cell + 1;
}

/* Members of lists and links have four bytes. */
#define OTHER_WIDTH(name) \
extern void name(void *address); \
void \
name(void *address) \
{ \
	if (cell_of(address) >= 0) \
		fail(#name " of a list or link"); \
}

OTHER_WIDTH(__tsan_read1)
OTHER_WIDTH(__tsan_read2)
OTHER_WIDTH(__tsan_read8)
OTHER_WIDTH(__tsan_read16)
OTHER_WIDTH(__tsan_write1)
OTHER_WIDTH(__tsan_write2)
OTHER_WIDTH(__tsan_write8)
OTHER_WIDTH(__tsan_write16)
