/*-------------------------------------------------------------------------
 *
 * sched_run.c
 *	  One schedule: virtual processes that hand on the baton.
 *
 * Each process has a stack of its own, which is entered once; from then on
 * _setjmp() and _longjmp() switch, without a system call.  A run that failed is
 * left where it is, and the next one starts from each stack's base again.
 *
 *-------------------------------------------------------------------------
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "scheduler.h"

#define STACK_SIZE (64 * 1024)

Run			run;
Process		process[MAX_PROCESSES + 1];

static char stacks[MAX_PROCESSES][STACK_SIZE] __attribute__((aligned(64)));
static bool have_stacks = false;
static ucontext_t first_context;
static ucontext_t stack_context;
static jmp_buf base[MAX_PROCESSES];
static jmp_buf context[MAX_PROCESSES];
static bool started[MAX_PROCESSES];
static jmp_buf driver;
static char failure[1024];

void
fail(const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	vsnprintf(failure, sizeof(failure), fmt, args);
	va_end(args);
	trace("FAILED: %s", failure);
	_longjmp(driver, 1);
}

const char *
run_failure(void)
{
	return failure;
}

/* One line of a replay. */
void
trace(const char *fmt,...)
{
	va_list		args;

	if (!run.trace)
		return;
	printf("%5u  %*sp%d  ", run.steps, 2 * run.current, "", run.current);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

static void
switch_to(int p)
{
	run.current = p;
	if (started[p])
		_longjmp(context[p], 1);
	started[p] = true;
	_longjmp(base[p], 1);
}

/*
 * Give the baton to whoever is chosen; returns when this process gets it back.
 */
static void
hand_on(StepKind kind)
{
	int			self = run.current;
	bool		any = false;
	int			next;

	for (int p = 0; p < run.program.nprocesses; p++)
		any |= is_runnable(p);
	if (!any)
		check_stuck();
	next = choose_next(kind);
	check_step();
	if (next != self && _setjmp(context[self]) == 0)
		switch_to(next);
}

/*
 * Before every step of a process.
 */
void
step(StepKind kind)
{
	if (++run.steps > MAX_STEPS)
		fail("no end after %d steps", MAX_STEPS);
	check_step();
	hand_on(kind);
}

void
semaphore_down(int p)
{
	process[p].parked = true;
	if (process[p].semaphore == 0)
		hand_on(STEP_PARK);
	process[p].parked = false;
	process[p].semaphore--;
}

void
semaphore_up(int p)
{
	process[p].semaphore++;
}

static void
finish(int p)
{
	process[p].finished = true;
	memory_release(p);
	for (int other = 0; other < run.program.nprocesses; other++)
	{
		if (!process[other].finished)
			hand_on(STEP_PARK); /* does not return */
	}
	check_end();
	_longjmp(driver, 2);
}

static void
stack_main(int p)
{
	if (_setjmp(base[p]) == 0)
		swapcontext(&stack_context, &first_context);
	/* again for each run */
	actions_main(run.current);
	finish(run.current);
}

static void
make_stacks(void)
{
	for (int p = 0; p < MAX_PROCESSES; p++)
	{
		getcontext(&stack_context);
		stack_context.uc_stack.ss_sp = stacks[p];
		stack_context.uc_stack.ss_size = STACK_SIZE;
		stack_context.uc_link = NULL;
		makecontext(&stack_context, (void (*) (void)) stack_main, 1, p);
		swapcontext(&first_context, &stack_context);
	}
	have_stacks = true;
}

/*
 * Run a program from beginning to end; false if it failed.
 */
bool
run_schedule(MemoryKind memory, Strategy strategy, int scenario, uint64_t seed)
{
	int			outcome;

	if (!have_stacks)
		make_stacks();
	run.memory = memory;
	run.strategy = strategy;
	run.seed = seed;
	run.steps = 0;
	run.current = NOBODY;
	memset(process, 0, sizeof(process));
	process[NOBODY].finished = true;
	memset(started, 0, sizeof(started));
	failure[0] = '\0';
	program_build(&run.program, scenario, seed);
	for (int p = 0; p < run.program.nprocesses && run.trace; p++)
		printf("       p%d: %s\n", p, program_describe(p));
	outcome = _setjmp(driver);
	if (outcome == 0)
	{
		memory_begin();
		check_begin();
		core_begin();
		actions_begin();
		choice_begin();
		switch_to(choose_next(STEP_PARK));
	}
	return outcome == 2;
}
