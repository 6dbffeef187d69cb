/*-------------------------------------------------------------------------
 *
 * scheduler.h
 *	  The parts of the deterministic scheduler and what they call of each other.
 *
 *	test_lock_sched.c	what is run, how much of it, what is printed
 *	sched_run.c			one schedule: virtual processes that hand on the baton
 *	sched_choice.c		which process goes next, which store becomes visible
 *	sched_memory.c		memory as a processor shows it to the others
 *	sched_program.c		makes the programs of the virtual processes
 *	sched_action.c		does what is in them
 *	sched_core.c		src/lock_core.h
 *	sched_shim.c		the shim under it
 *	sched_check.c		what must be true
 *
 * A virtual process may be interrupted before each of its steps; between two
 * steps it runs alone.  So the whole run is a function of the choices made.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SCHEDULER_H
#define SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_PROCESSES	5
#define MAX_LOCKS		3
#define MAX_ACTIONS		6		/* of one process */
#define MAX_STEPS		20000	/* of a run; no program needs so many */

#define MODE_EXCLUSIVE	0
#define MODE_SHARED		1
#define MODE_NONE		(-1)

/*
 * Memory cells: of each lock, of each process, and one more.
 */
typedef enum CellKind
{
	CELL_WORD,
	CELL_HEAD,
	CELL_TAIL,
	CELL_VAR,
	CELL_LEFT,					/* what the lock protects: two counters that */
	CELL_RIGHT,					/* are equal whenever nobody changes them */
	CELLS_PER_LOCK,

	CELL_NEXT = 0,
	CELL_PREV,
	CELL_STATE,
	CELL_MODE,
	CELL_SERVED,				/* the other use of the semaphore */
	CELLS_PER_PROCESS
} CellKind;

#define LOCK_CELL(lock, kind)	((lock) * CELLS_PER_LOCK + (kind))
#define PROCESS_CELL(p, kind)	(MAX_LOCKS * CELLS_PER_LOCK + (p) * CELLS_PER_PROCESS + (kind))
#define CELL_RESERVED			PROCESS_CELL(MAX_PROCESSES, 0)
#define NCELLS					(CELL_RESERVED + 1)

/*
 * Programs.  Locks are taken in ascending order, and nobody waits for another
 * process while it holds one, but as WAL insertion does; so none is stuck
 * unless the lock is broken.
 */
typedef enum ActionKind
{
	ACT_SECTION,				/* acquire, touch, release */
	ACT_TRY,					/* if it is free */
	ACT_OR_WAIT,				/* or wait until it is free, and try again */
	ACT_NESTED,					/* two locks, released in either order */
	ACT_PUBLISH,				/* hold the lock and move its variable on */
	ACT_WATCH,					/* wait for the variable */
	ACT_POST,					/* raise somebody's semaphore for no reason */
	ACT_SERVE,					/* raise it for the other use */
	ACT_AWAIT_SERVICE,			/* the other use */
	ACT_LINGER,					/* hold a lock, post others, await a service */
	ACT_INSERT,					/* as inserting into the WAL does */
	ACT_FLUSH,					/* wait for insertions, as flushing it does */

	/* tests of the memory itself; count is the value to store */
	ACT_STORE,
	ACT_LOAD,
	ACT_WRITE_BARRIER,
	ACT_FULL_BARRIER
} ActionKind;

typedef struct Action
{
	ActionKind	kind;
	int			lock;
	int			mode;
	int			mode2;			/* ACT_NESTED: of the next lock */
	int			count;			/* how often, which process, which way */
} Action;

typedef struct Program
{
	int			nprocesses;
	int			nlocks;
	int			spin_budget;	/* of every spin; -1 is any, chosen anew */
	int			nactions[MAX_PROCESSES];
	Action		actions[MAX_PROCESSES][MAX_ACTIONS];
} Program;

/*
 * A run.
 */
typedef enum MemoryKind
{
	MEMORY_PLAIN,				/* every store is visible at once */
	MEMORY_X86,					/* stores are delayed, and stay in order */
	MEMORY_ARM					/* they do not, and loads may be early */
} MemoryKind;

typedef enum Strategy
{
	STRATEGY_RANDOM,
	STRATEGY_PRIORITY,			/* strict priorities that change a few times */
	STRATEGY_BOUNDED			/* every schedule with few deviations */
} Strategy;

/* Where a process may be interrupted; bounded search leaves PLAIN out. */
typedef enum StepKind
{
	STEP_PLAIN,					/* what a lock protects */
	STEP_RACY,					/* everything else */
	STEP_PARK,
	STEP_YIELD					/* somebody else has to go on */
} StepKind;

typedef struct Run
{
	MemoryKind	memory;
	Strategy	strategy;
	uint64_t	seed;
	bool		trace;
	uint32_t	steps;			/* so far */
	int			current;		/* the process that has the baton */
	Program		program;
} Run;

typedef enum Operation
{
	OP_NONE,
	OP_ACQUIRE,
	OP_CONDITIONAL,
	OP_ACQUIRE_OR_WAIT,
	OP_RELEASE,
	OP_WAIT_FOR_VAR,
	OP_UPDATE_VAR,
	OP_CLEAR_VAR,
	OP_OTHER_WAIT
} Operation;

/* A virtual process, and what is known of it without asking the core. */
typedef struct Process
{
	bool		finished;
	bool		parked;
	int			semaphore;
	int			stray_posts;	/* must be in the semaphore at the end */
	int			spins;			/* begun and not ended */
	int			sleeps;
	Operation	op;
	int			op_lock;
	int			op_mode;
	uint32_t	op_floor;		/* it may see what was true then */
	int64_t		op_oldval;
	bool		op_taken_off;	/* by somebody who wakes it */
	bool		op_may_wake;	/* OP_RELEASE: the word that was left says so */
	int			holds[MAX_LOCKS];	/* mode */
} Process;

extern Run	run;
#define NOBODY MAX_PROCESSES
extern Process process[MAX_PROCESSES + 1];

/* sched_run.c */
extern bool run_schedule(MemoryKind memory, Strategy strategy, int scenario, uint64_t seed);
extern const char *run_failure(void);
extern void step(StepKind kind);
extern void semaphore_down(int p);
extern void semaphore_up(int p);
extern void fail(const char *fmt,...) __attribute__((format(printf, 1, 2), noreturn));
extern void trace(const char *fmt,...) __attribute__((format(printf, 1, 2)));

static inline bool
is_runnable(int p)
{
	return !process[p].finished && !(process[p].parked && process[p].semaphore == 0);
}

static inline bool
is_asleep(int p)
{
	return process[p].parked && process[p].semaphore == 0;
}

/* sched_choice.c */
typedef enum Hold
{
	HOLD_NOT,					/* the store is visible at once */
	HOLD_A_WHILE,
	HOLD_LONG					/* until the buffer has to be emptied */
} Hold;

extern void choice_begin(void);
extern int	choose_next(StepKind kind);
extern Hold choose_hold(void);
extern int	choose_version(int nversions);
extern uint32_t choose_budget(void);
extern uint32_t choose_step(void);
extern uint64_t random_next(uint64_t *state);
extern uint64_t random_seed(uint64_t seed, int stream);
extern void bounded_begin(int max_deviations, bool plain_steps);
extern bool bounded_advance(void);
extern bool bounded_set(const char *decisions);
extern const char *bounded_get(void);

/* sched_memory.c */
extern void memory_begin(void);
extern int64_t memory_load(int p, int cell);
extern void memory_store(int p, int cell, int64_t value);
extern int64_t memory_lock(int p, int cell);
extern void memory_put(int p, int cell, int64_t value);
extern void memory_write_barrier(int p);
extern void memory_release(int p);
extern void memory_acquire(int p);
extern void memory_flush(int p, int choice);
extern int	memory_flushable(int p);
extern bool memory_had(int cell, int64_t value, uint32_t since);
extern uint32_t memory_time(void);
extern uint32_t memory_floor(int p);
extern int64_t memory_value(int cell);
extern const char *memory_cell_name(int cell);
extern const char *memory_value_name(int cell, int64_t value);

/* sched_program.c */
extern int	scenario_by_name(const char *name);
extern void program_build(Program *program, int scenario, uint64_t seed);
extern const char *program_describe(int p);

/* sched_action.c */
extern void actions_begin(void);
extern void actions_main(int p);
extern void actions_check_end(void);
extern int	actions_loaded(void);

/* sched_core.c */
typedef struct WordBits
{
	uint32_t	has_waiters;
	uint32_t	release_ok;
	uint32_t	list_locked;
	uint32_t	exclusive;
	uint32_t	holders;
	int			list_end;
	int			not_waiting;
	int			waiting;
	int			until_free;
} WordBits;

extern const WordBits core_bits;
extern const char *const core_mutant;
extern void core_begin(void);
extern void core_acquire(int lock, int mode);
extern bool core_conditional(int lock, int mode);
extern bool core_acquire_or_wait(int lock, int mode);
extern void core_release(int lock, int mode);
extern bool core_wait_for_var(int lock, int64_t oldval, int64_t *newval);
extern void core_update_var(int lock, int64_t value);
extern void core_release_clear_var(int lock, int64_t value);

/* sched_shim.c */
extern void shim_begin(void);
extern void shim_step(StepKind kind);
extern int64_t shim_load(StepKind kind, int cell);
extern void shim_store(StepKind kind, int cell, int64_t value);
extern int64_t shim_add(int cell, int64_t n);

/* sched_check.c */
extern void check_begin(void);
extern void check_word_change(int p, int lock, uint32_t old, uint32_t new);
extern void check_step(void);
extern void check_stuck(void) __attribute__((noreturn));
extern void check_end(void);
extern void check_op_begin(Operation op, int lock, int mode, int64_t oldval);
extern void check_op_end(bool result, int64_t newval);

#endif							/* SCHEDULER_H */
