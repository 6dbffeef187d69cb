/*-------------------------------------------------------------------------
 *
 * threads_shim.h
 *	  The shim under lock_core.h for threads.
 *
 * A process is a thread.  What the wait list's lock protects is accessed
 * plainly, so that ThreadSanitizer sees whether it does.  States and variables
 * are looked at without a lock, by design: they are atomic.
 *
 *-------------------------------------------------------------------------
 */
#ifndef THREADS_SHIM_H
#define THREADS_SHIM_H

#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_THREADS 256

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

typedef struct Lock
{
	uint32_t	word;
	lc_list		waiters;
} __attribute__((aligned(64))) Lock;

typedef struct Spin
{
	uint32_t	budget;
	uint32_t	spent;
	uint32_t	step;
} Spin;

typedef struct Thread
{
	sem_t		semaphore;
	lc_link		link;
	int			mode;
	uint8_t		state;
	uint64_t	dice;
	uint64_t	sleeps;
	uint64_t	dequeues;
	uint64_t	spins;
} __attribute__((aligned(64))) Thread;

#define LC_LOCK Lock
#define LC_VAR uint64_t
#define LC_END (-1)
#define LC_SPIN Spin
#define LC_DELAY int
#define LC_WAIT int

static Thread threads[MAX_THREADS];
static __thread int self_number;

/* How long to spin at most; changes all the time. */
static uint32_t spin_setting;

static inline uint32_t
random_below(uint32_t n)
{
	Thread	   *self = &threads[self_number];

	self->dice = self->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t) (self->dice >> 33) % n;
}

static inline uint32_t
lc_read(Lock *lock)
{
	return __atomic_load_n(&lock->word, __ATOMIC_RELAXED);
}

static inline bool
lc_cas(Lock *lock, uint32_t *old, uint32_t new)
{
	return __atomic_compare_exchange_n(&lock->word, old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static inline uint32_t
lc_fetch_or(Lock *lock, uint32_t bits)
{
	return __atomic_fetch_or(&lock->word, bits, __ATOMIC_SEQ_CST);
}

static inline uint32_t
lc_fetch_and(Lock *lock, uint32_t bits)
{
	return __atomic_fetch_and(&lock->word, bits, __ATOMIC_SEQ_CST);
}

static inline uint32_t
lc_fetch_sub(Lock *lock, uint32_t value)
{
	return __atomic_fetch_sub(&lock->word, value, __ATOMIC_SEQ_CST);
}

/*
 * ThreadSanitizer knows no fences.  For it, a barrier makes the store of a
 * state that comes next a release; without the barrier it is none.
 */
#ifdef __SANITIZE_THREAD__
static __thread bool barrier_before = false;

static inline void
lc_write_barrier(void)
{
	barrier_before = true;
}

static inline void
lc_set_wait_state(int p, int state)
{
	if (barrier_before)
		__atomic_store_n(&threads[p].state, (uint8_t) state, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&threads[p].state, (uint8_t) state, __ATOMIC_RELAXED);
	barrier_before = false;
}

static inline int
lc_wait_state(int p)
{
	return __atomic_load_n(&threads[p].state, __ATOMIC_ACQUIRE);
}
#else
static inline void
lc_write_barrier(void)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void
lc_set_wait_state(int p, int state)
{
	__atomic_store_n(&threads[p].state, (uint8_t) state, __ATOMIC_RELAXED);
}

static inline int
lc_wait_state(int p)
{
	return __atomic_load_n(&threads[p].state, __ATOMIC_RELAXED);
}
#endif

static inline lc_list *
lc_waiters(Lock *lock)
{
	return &lock->waiters;
}

static inline lc_link *
lc_link_of(int p)
{
	return &threads[p].link;
}

static inline int
lc_wait_mode(int p)
{
	return threads[p].mode;
}

static inline void
lc_set_wait_mode(int p, int mode)
{
	threads[p].mode = mode;
}

static inline int
lc_self(void)
{
	return self_number;
}

static inline void
lc_check_can_wait(void)
{
	if (lc_wait_state(self_number) != 0)
	{
		printf("Bail out! a thread queues for a lock while it waits for another one\n");
		exit(1);
	}
}

static inline void
lc_park(int p)
{
	while (sem_wait(&threads[p].semaphore) != 0)
		;
}

static inline void
lc_unpark(int p)
{
	sem_post(&threads[p].semaphore);
}

static inline void
lc_pause(uint32_t n)
{
	while (n-- > 0)
	{
#if defined(__x86_64__)
		__builtin_ia32_pause();
#elif defined(__aarch64__)
		__asm__ __volatile__("isb" ::: "memory");
#endif
	}
}

static inline void
lc_delay_begin(int *delay)
{
	*delay = 0;
}

static inline void
lc_delay(int *delay)
{
	if (++*delay % 100 == 0)
		sched_yield();
	else
		lc_pause(1);
}

static inline void
lc_delay_end(Lock *lock, int *delay)
{
	(void) lock;
	(void) delay;
}

static inline void
lc_spin_begin(Lock *lock, Spin *spin)
{
	uint32_t	setting = __atomic_load_n(&spin_setting, __ATOMIC_RELAXED);

	(void) lock;
	spin->budget = setting == 0 ? 0 : random_below(setting);
	spin->spent = 0;
	spin->step = 1 + random_below(16);
}

static inline void
lc_spin_end(Lock *lock, Spin *spin, bool success)
{
	(void) lock;
	(void) spin;
	threads[self_number].spins += success;
}

static inline void
lc_wait_begin(Lock *lock, int mode, int *wait)
{
	(void) lock;
	*wait = mode;
	threads[self_number].sleeps++;
}

static inline void
lc_wait_end(Lock *lock, int mode, int *wait)
{
	(void) lock;
	(void) mode;
	(void) wait;
}

static inline void
lc_count_dequeue(Lock *lock)
{
	(void) lock;
	threads[self_number].dequeues++;
}

static uint64_t lc_var_read(Lock *lock, uint64_t *var);

static inline uint64_t
lc_var_peek(uint64_t *var)
{
	return __atomic_load_n(var, __ATOMIC_RELAXED);
}

static inline void
lc_var_write(uint64_t *var, uint64_t value)
{
	__atomic_store_n(var, value, __ATOMIC_RELAXED);
}

#endif							/* THREADS_SHIM_H */
