/*-------------------------------------------------------------------------
 *
 * sched_shim.h
 *	  The shim under lock_core.h in the scheduler.
 *
 * A lock is its number, a variable is its cell's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SCHED_SHIM_H
#define SCHED_SHIM_H

#include "scheduler.h"

typedef struct lc_list
{
	int			head;
	int			tail;
} lc_list;

typedef struct lc_link
{
	int			next;
	int			prev;
} lc_link;

typedef struct SimSpin
{
	uint32_t	budget;
	uint32_t	spent;
	uint32_t	step;
} SimSpin;

typedef const int SimLock;
typedef const int SimVar;

#define LC_LOCK SimLock
#define LC_VAR SimVar
#define LC_END 0x7fffffff
#define LC_SPIN SimSpin
#define LC_DELAY int
#define LC_WAIT int

extern uint32_t lc_read(SimLock *lock);
extern bool lc_cas(SimLock *lock, uint32_t *old, uint32_t new);
extern uint32_t lc_fetch_or(SimLock *lock, uint32_t bits);
extern uint32_t lc_fetch_and(SimLock *lock, uint32_t bits);
extern uint32_t lc_fetch_sub(SimLock *lock, uint32_t value);
extern void lc_write_barrier(void);
extern lc_list *lc_waiters(SimLock *lock);
extern lc_link *lc_link_of(int p);
extern int	lc_wait_state(int p);
extern void lc_set_wait_state(int p, int state);
extern int	lc_wait_mode(int p);
extern void lc_set_wait_mode(int p, int mode);
extern int	lc_self(void);
extern void lc_check_can_wait(void);
extern void lc_park(int p);
extern void lc_unpark(int p);
extern void lc_pause(uint32_t n);
extern void lc_delay_begin(int *delay);
extern void lc_delay(int *delay);
extern void lc_delay_end(SimLock *lock, int *delay);
extern void lc_spin_begin(SimLock *lock, SimSpin *spin);
extern void lc_spin_end(SimLock *lock, SimSpin *spin, bool success);
extern void lc_wait_begin(SimLock *lock, int mode, int *wait);
extern void lc_wait_end(SimLock *lock, int mode, int *wait);
extern void lc_count_dequeue(SimLock *lock);
extern uint64_t lc_var_peek(SimVar *var);
extern void lc_var_write(SimVar *var, uint64_t value);

/* For mutants: a plain store, where there should be an atomic operation. */
extern bool lc_mutant_store(SimLock *lock, uint32_t new);

#endif							/* SCHED_SHIM_H */
