/*-------------------------------------------------------------------------
 *
 * sched_memory.c
 *	  Memory as a processor shows it to the others.
 *
 * Every process has a buffer of stores that only it sees yet.  On x86 they
 * become visible in order; on arm64 in any order, but not past a write barrier
 * and not past a store to the same cell.  An atomic operation empties the
 * buffer and works on memory itself, as a full barrier.
 *
 * On arm64 a load may also be satisfied early: it may return any value that
 * the cell had since the process's last barrier, but none that is older than
 * one that the process has seen in that cell.  So memory keeps a few versions
 * of each cell.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>

#include "scheduler.h"

#define BUFFER_SIZE		16
#define NVERSIONS		8
#define WRITE_BARRIER	(-1)

typedef struct Store
{
	int			cell;			/* or WRITE_BARRIER */
	int64_t		value;
	bool		lingers;		/* until the buffer has to be emptied */
} Store;

typedef struct Version
{
	int64_t		value;
	uint32_t	since;
} Version;

typedef struct Cell
{
	Version		versions[NVERSIONS];	/* a ring */
	uint32_t	last;			/* the current one; counts on */
} Cell;

static Cell memory[NCELLS];
static uint32_t now;			/* counts changes of memory */
static Store buffer[MAX_PROCESSES][BUFFER_SIZE];
static int	nbuffer[MAX_PROCESSES];
static uint32_t barrier_time[MAX_PROCESSES];
static uint32_t seen[MAX_PROCESSES][NCELLS];	/* version */

static inline Version *
version(int cell, uint32_t number)
{
	return &memory[cell].versions[number % NVERSIONS];
}

void
memory_begin(void)
{
	now = 0;
	for (int cell = 0; cell < NCELLS; cell++)
	{
		memory[cell].last = 0;
		memory[cell].versions[0].value = 0;
		memory[cell].versions[0].since = 0;
	}
	for (int p = 0; p < MAX_PROCESSES; p++)
	{
		nbuffer[p] = 0;
		barrier_time[p] = 0;
		for (int cell = 0; cell < NCELLS; cell++)
			seen[p][cell] = 0;
	}
}

int64_t
memory_value(int cell)
{
	return version(cell, memory[cell].last)->value;
}

uint32_t
memory_time(void)
{
	return now;
}

/* What a process may still see as it was then. */
uint32_t
memory_floor(int p)
{
	return run.memory == MEMORY_ARM ? barrier_time[p] : now;
}

/* Did the cell have the value at any time since then? */
bool
memory_had(int cell, int64_t value, uint32_t since)
{
	uint32_t	last = memory[cell].last;

	for (uint32_t i = 0; i <= last && i < NVERSIONS; i++)
	{
		if (version(cell, last - i)->value == value)
			return true;
		if (version(cell, last - i)->since <= since)
			return false;
	}
	return last >= NVERSIONS;	/* forgotten */
}

/*
 * Change memory at once.
 */
void
memory_put(int p, int cell, int64_t value)
{
	Version    *new = version(cell, ++memory[cell].last);

	new->value = value;
	new->since = ++now;
	seen[p][cell] = memory[cell].last;
}

/*
 * May this store become visible before those that are ahead of it?
 */
static bool
may_pass(int p, int position)
{
	if (position == 0)
		return true;
	if (run.memory != MEMORY_ARM)
		return false;
	for (int i = 0; i < position; i++)
	{
		if (buffer[p][i].cell == WRITE_BARRIER || buffer[p][i].cell == buffer[p][position].cell)
			return false;
	}
	return true;
}

static void
flush(int p, int position)
{
	Store		store = buffer[p][position];

	nbuffer[p]--;
	for (int i = position; i < nbuffer[p]; i++)
		buffer[p][i] = buffer[p][i + 1];
	memory_put(p, store.cell, store.value);
	if (run.trace)
		trace("  (p%d's store is visible: %s = %s)", p, memory_cell_name(store.cell),
			  memory_value_name(store.cell, store.value));

	/* a barrier with nothing before it has done its work */
	while (nbuffer[p] > 0 && buffer[p][0].cell == WRITE_BARRIER)
	{
		nbuffer[p]--;
		for (int i = 0; i < nbuffer[p]; i++)
			buffer[p][i] = buffer[p][i + 1];
	}
}

static bool
may_flush(int p, int position)
{
	return buffer[p][position].cell != WRITE_BARRIER && !buffer[p][position].lingers &&
		may_pass(p, position);
}

/* How many stores could become visible next? */
int
memory_flushable(int p)
{
	int			n = 0;

	for (int i = 0; i < nbuffer[p]; i++)
		n += may_flush(p, i);
	return n;
}

/* Make one of them visible. */
void
memory_flush(int p, int choice)
{
	for (int i = 0; i < nbuffer[p]; i++)
	{
		if (may_flush(p, i) && choice-- == 0)
		{
			flush(p, i);
			return;
		}
	}
}

/* Everything before is visible before anything after: a release. */
void
memory_release(int p)
{
	while (nbuffer[p] > 0)
		flush(p, 0);
}

/* Nothing after is older than anything before: an acquire. */
void
memory_acquire(int p)
{
	barrier_time[p] = now;
	if (run.memory != MEMORY_ARM)
		memory_release(p);		/* whatever does this is a locked instruction */
}

void
memory_write_barrier(int p)
{
	if (run.memory != MEMORY_ARM || nbuffer[p] == 0)
		return;
	if (nbuffer[p] == BUFFER_SIZE)
		memory_release(p);
	else
		buffer[p][nbuffer[p]++].cell = WRITE_BARRIER;
}

/*
 * Begin an atomic operation, which memory_put() may end: the current value.
 */
int64_t
memory_lock(int p, int cell)
{
	memory_release(p);
	barrier_time[p] = now;
	seen[p][cell] = memory[cell].last;
	return memory_value(cell);
}

int64_t
memory_load(int p, int cell)
{
	uint32_t	last = memory[cell].last;
	uint32_t	nold = 0;

	for (int i = nbuffer[p] - 1; i >= 0; i--)
	{
		if (buffer[p][i].cell == cell)
			return buffer[p][i].value;
	}

	if (run.memory == MEMORY_ARM)
	{
		while (nold < NVERSIONS - 1 && last - nold > seen[p][cell] &&
			   version(cell, last - nold)->since > barrier_time[p])
			nold++;
		if (nold > 0)
		{
			nold = choose_version(nold + 1);
			if (nold > 0 && run.trace)
				trace("  (an early load of %s)", memory_cell_name(cell));
		}
	}
	seen[p][cell] = last - nold;
	return version(cell, last - nold)->value;
}

void
memory_store(int p, int cell, int64_t value)
{
	int			position;

	if (run.memory == MEMORY_PLAIN)
	{
		memory_put(p, cell, value);
		return;
	}
	if (nbuffer[p] == BUFFER_SIZE)
		flush(p, 0);
	position = nbuffer[p]++;
	buffer[p][position].cell = cell;
	buffer[p][position].value = value;
	buffer[p][position].lingers = false;
	if (!may_pass(p, position))
		return;
	switch (choose_hold())
	{
		case HOLD_NOT:
			flush(p, position);
			break;
		case HOLD_A_WHILE:
			break;
		case HOLD_LONG:
			buffer[p][position].lingers = true;
			break;
	}
}

const char *
memory_cell_name(int cell)
{
	static const char *const of_lock[] = {"word", "head", "tail", "variable", "left", "right"};
	static const char *const of_process[] = {"next", "prev", "state", "mode", "served"};
	static char name[32];

	if (cell < PROCESS_CELL(0, 0))
		snprintf(name, sizeof(name), "lock%d.%s", cell / CELLS_PER_LOCK, of_lock[cell % CELLS_PER_LOCK]);
	else if (cell < CELL_RESERVED)
	{
		cell -= PROCESS_CELL(0, 0);
		snprintf(name, sizeof(name), "p%d.%s", cell / CELLS_PER_PROCESS, of_process[cell % CELLS_PER_PROCESS]);
	}
	else
		snprintf(name, sizeof(name), "reserved");
	return name;
}

const char *
memory_value_name(int cell, int64_t value)
{
	static char names[2][64];	/* for two in one message */
	static int	turn;
	char	   *name = names[turn ^= 1];
	bool		of_lock = cell < PROCESS_CELL(0, 0);
	int			kind = of_lock ? cell % CELLS_PER_LOCK : (cell - PROCESS_CELL(0, 0)) % CELLS_PER_PROCESS;

	if (of_lock && kind == CELL_WORD)
	{
		uint32_t	word = (uint32_t) value;

		snprintf(name, sizeof(names[0]), "[%s%s%s%s%u shared]",
				 word & core_bits.has_waiters ? "waiters " : "",
				 word & core_bits.release_ok ? "release-ok " : "",
				 word & core_bits.list_locked ? "list-locked " : "",
				 word & core_bits.exclusive ? "EXCLUSIVE " : "",
				 word & core_bits.holders & ~core_bits.exclusive);
	}
	else if ((of_lock && (kind == CELL_HEAD || kind == CELL_TAIL)) ||
			 (!of_lock && cell != CELL_RESERVED && (kind == CELL_NEXT || kind == CELL_PREV)))
		snprintf(name, sizeof(names[0]), value == core_bits.list_end ? "end" :
				 value == 0 ? "p0 or cleared" : "p%d", (int) value);
	else if (!of_lock && cell != CELL_RESERVED && kind == CELL_STATE)
		snprintf(name, sizeof(names[0]), "%s", value == core_bits.not_waiting ? "not waiting" :
				 value == core_bits.waiting ? "waiting" : "pending wake-up");
	else
		snprintf(name, sizeof(names[0]), "%lld", (long long) value);
	return name;
}
