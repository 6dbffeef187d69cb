/*-------------------------------------------------------------------------
 *
 * test_lock_threads.c
 *	  The lock core under threads on all processors.
 *
 * test_lock_threads [SECONDS].  Built twice: as it is, and for ThreadSanitizer.
 *
 * Every thread does one random thing after the other: what the programs of
 * the deterministic scheduler do.  One more thread serves those who use their
 * semaphore for something else, posts semaphores for no reason, and changes
 * how long may be spun.
 *
 *-------------------------------------------------------------------------
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "threads_shim.h"
#include "lock_word_pg15.h"
#include "lock_core.h"
#include "lock_ops.h"

#include "tap.h"

#define NLOCKS 2				/* for any use, the second within the first */
#define NSLOTS 2				/* for insertion */
#define STUCK_SECONDS 30
#define MAX_STRAY 3

typedef struct Protected
{
	Lock		lock;
	uint64_t	var;
	uint64_t	published;		/* all three by the lock */
	uint64_t	left;
	uint64_t	right;
} Protected;

/* Per thread, apart from what the shim knows. */
typedef struct Worker
{
	pthread_t	thread;
	uint64_t	ndone;
	uint64_t	nchanges[NLOCKS];
	uint64_t	inserting;		/* position, 0 for none */
	int			wants_service;
	uint64_t	nposted;
	uint64_t	ntaken;			/* of those */
} __attribute__((aligned(64))) Worker;

static Protected locks[NLOCKS];
static Protected slots[NSLOTS];
static uint64_t reserved = 0;
static Worker workers[MAX_THREADS];
static int	nworkers;
static int	stop = 0;
static uint64_t nbroken = 0;	/* half-changed data seen */
static uint64_t nbehind = 0;	/* insertions missed */
static uint64_t nwrong_var = 0;

static uint64_t
lc_var_read(Lock *lock, uint64_t *var)
{
	uint64_t	value;

	lc_list_lock(lock);
	value = lc_var_peek(var);
	lc_list_unlock(lock);
	return value;
}

static void
count(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static void
touch(int i, int mode)
{
	Protected  *p = &locks[i];

	if (p->left != p->right)
		count(&nbroken);
	if (mode == LC_MODE_EXCLUSIVE)
	{
		p->left++;
		lc_pause(random_below(50));
		p->right++;
		workers[self_number].nchanges[i]++;
	}
	else
		lc_pause(random_below(50));
	/* now and then, be away for longer than anybody spins */
	if (random_below(200) == 0)
		sched_yield();
}

static void
section(int i, int mode)
{
	op_acquire(&locks[i].lock, mode);
	touch(i, mode);
	op_release(&locks[i].lock, mode);
}

static void
nested(int mode0, int mode1, bool crosswise)
{
	op_acquire(&locks[0].lock, mode0);
	op_acquire(&locks[1].lock, mode1);
	touch(0, mode0);
	if (crosswise)
		op_release(&locks[0].lock, mode0);
	touch(1, mode1);
	op_release(&locks[1].lock, mode1);
	if (!crosswise)
		op_release(&locks[0].lock, mode0);
}

static void
acquire_or_wait(int i, int mode)
{
	if (op_acquire_or_wait(&locks[i].lock, mode))
	{
		touch(i, mode);
		op_release(&locks[i].lock, mode);
	}
}

static void
conditional(int i, int mode)
{
	if (op_conditional(&locks[i].lock, mode))
	{
		touch(i, mode);
		op_release(&locks[i].lock, mode);
	}
}

static void
publish(int i, bool clear)
{
	Protected  *p = &locks[i];

	op_acquire(&p->lock, LC_MODE_EXCLUSIVE);
	touch(i, LC_MODE_EXCLUSIVE);
	lc_update_var(&p->lock, &p->var, ++p->published);
	if (clear)
		lc_clear_var(&p->lock, &p->var, 0);
	op_release(&p->lock, LC_MODE_EXCLUSIVE);
}

static void
watch(int i)
{
	Protected  *p = &locks[i];
	uint64_t	old = lc_var_peek(&p->var);
	uint64_t	value = old;

	if (!op_wait_for_var(&p->lock, &p->var, old, &value) && value == old)
		count(&nwrong_var);
}

static void
await_insertions(uint64_t position)
{
	for (int i = 0; i < NSLOTS; i++)
	{
		uint64_t	value = 0;

		while (!op_wait_for_var(&slots[i].lock, &slots[i].var, value, &value) && value < position)
			;
	}
	__atomic_fetch_add(&reserved, 0, __ATOMIC_SEQ_CST);
	for (int i = 0; i < nworkers; i++)
	{
		uint64_t	inserting = __atomic_load_n(&workers[i].inserting, __ATOMIC_SEQ_CST);

		if (inserting != 0 && inserting < position)
			count(&nbehind);
	}
}

static void
insert(int i, bool no_room)
{
	uint64_t	position;

	op_acquire(&slots[i].lock, LC_MODE_EXCLUSIVE);
	position = __atomic_add_fetch(&reserved, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&workers[self_number].inserting, position, __ATOMIC_SEQ_CST);
	lc_pause(random_below(50));
	if (no_room)
	{
		lc_update_var(&slots[i].lock, &slots[i].var, position);
		await_insertions(position);
	}
	__atomic_store_n(&workers[self_number].inserting, 0, __ATOMIC_SEQ_CST);
	lc_clear_var(&slots[i].lock, &slots[i].var, 0);
	op_release(&slots[i].lock, LC_MODE_EXCLUSIVE);
}

static void
await_service(void)
{
	int		   *wants = &workers[self_number].wants_service;
	int			absorbed = 0;

	__atomic_store_n(wants, 1, __ATOMIC_SEQ_CST);
	for (;;)
	{
		lc_park(self_number);
		if (__atomic_load_n(wants, __ATOMIC_ACQUIRE) == 0)
			break;
		absorbed++;
	}
	lc_give_back(self_number, absorbed);
}

/* Lest posts for no reason pile up.  It may be another one that is taken. */
static void
take_stray(void)
{
	Worker	   *self = &workers[self_number];

	if (__atomic_load_n(&self->nposted, __ATOMIC_RELAXED) > self->ntaken &&
		sem_trywait(&threads[self_number].semaphore) == 0)
		__atomic_store_n(&self->ntaken, self->ntaken + 1, __ATOMIC_RELAXED);
}

static void *
work(void *arg)
{
	self_number = (int) (intptr_t) arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
	{
		int			i = random_below(NLOCKS);
		int			mode = random_below(3) == 0 ? LC_MODE_EXCLUSIVE : LC_MODE_SHARED;

		switch (random_below(16))
		{
			case 0:
			case 1:
			case 2:
			case 3:
				section(i, mode);
				break;
			case 4:
				section(i, LC_MODE_EXCLUSIVE);
				break;
			case 5:
				nested(mode, random_below(2), random_below(2));
				break;
			case 6:
			case 7:
				acquire_or_wait(i, random_below(4) == 0 ? LC_MODE_SHARED : LC_MODE_EXCLUSIVE);
				break;
			case 8:
				conditional(i, mode);
				break;
			case 9:
				publish(i, random_below(2));
				break;
			case 10:
				watch(i);
				break;
			case 11:
			case 12:
				insert(random_below(NSLOTS), random_below(2));
				break;
			case 13:
				await_insertions(__atomic_load_n(&reserved, __ATOMIC_SEQ_CST) + 1);
				break;
			case 14:
				if (random_below(20) == 0)
					await_service();
				break;
			case 15:
				take_stray();
				break;
		}
		__atomic_store_n(&workers[self_number].ndone, workers[self_number].ndone + 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/*
 * What one more thread does, until all others have ended.
 */
static int	ended = 0;

static void *
serve(void *arg)
{
	static const uint32_t settings[] = {0, 0, 10, 100, 1000};

	self_number = (int) (intptr_t) arg;
	while (!__atomic_load_n(&ended, __ATOMIC_RELAXED))
	{
		Worker	   *w;

		for (int i = 0; i < nworkers; i++)
		{
			w = &workers[i];
			if (__atomic_load_n(&w->wants_service, __ATOMIC_ACQUIRE) == 0)
				continue;
			__atomic_store_n(&w->wants_service, 0, __ATOMIC_RELEASE);
			lc_unpark(i);
		}
		w = &workers[random_below(nworkers)];
		if (w->nposted - __atomic_load_n(&w->ntaken, __ATOMIC_RELAXED) < MAX_STRAY)
		{
			__atomic_store_n(&w->nposted, w->nposted + 1, __ATOMIC_RELAXED);
			lc_unpark((int) (w - workers));
		}
		__atomic_store_n(&spin_setting, settings[random_below(5)], __ATOMIC_RELAXED);
		usleep(20);
	}
	return NULL;
}

static Lock *
lock_number(int j)
{
	return j < NLOCKS ? &locks[j].lock : &slots[j - NLOCKS].lock;
}

static uint64_t
done_by_all(void)
{
	uint64_t	sum = 0;

	for (int i = 0; i < nworkers; i++)
		sum += __atomic_load_n(&workers[i].ndone, __ATOMIC_RELAXED);
	return sum;
}

static void __attribute__((noreturn))
give_up(int i)
{
	ok(false, "thread %d has been stuck for %d s, in state %d", i, STUCK_SECONDS, lc_wait_state(i));
	for (int j = 0; j < NLOCKS + NSLOTS; j++)
		printf("# lock %d: %08x\n", j, lc_read(lock_number(j)));
	tap_done();
	fflush(stdout);
	_exit(1);
}

/* A thread that does nothing for so long sleeps for ever. */
static void
check_progress(void)
{
	static uint64_t before[MAX_THREADS];
	static time_t since[MAX_THREADS];
	time_t		now = time(NULL);

	for (int i = 0; i < nworkers; i++)
	{
		uint64_t	done = __atomic_load_n(&workers[i].ndone, __ATOMIC_RELAXED);

		if (done != before[i] || since[i] == 0)
		{
			before[i] = done;
			since[i] = now;
		}
		else if (now - since[i] > STUCK_SECONDS)
			give_up(i);
	}
}

/* Once stop is set, they all come to an end, or are stuck. */
static void
join_all(void)
{
	for (int i = 0; i < nworkers; i++)
	{
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += STUCK_SECONDS;
		if (pthread_timedjoin_np(workers[i].thread, NULL, &until) != 0)
			give_up(i);
	}
}

static void
check_end(double seconds)
{
	uint64_t	sleeps = 0,
				dequeues = 0,
				spins = 0;
	bool		words = true;
	bool		counts = true;
	bool		semaphores = true;

	for (int j = 0; j < NLOCKS + NSLOTS; j++)
	{
		Lock	   *lock = lock_number(j);

		words &= lock->word == LC_RELEASE_OK && lock->waiters.head == LC_END && lock->waiters.tail == LC_END;
	}
	for (int j = 0; j < NLOCKS; j++)
	{
		uint64_t	sum = 0;

		for (int i = 0; i < nworkers; i++)
			sum += workers[i].nchanges[j];
		counts &= sum == locks[j].left && sum == locks[j].right;
	}
	for (int i = 0; i < nworkers; i++)
	{
		int			value;

		sem_getvalue(&threads[i].semaphore, &value);
		semaphores &= (uint64_t) value == workers[i].nposted - workers[i].ntaken;
		semaphores &= lc_wait_state(i) == LC_NOT_WAITING;
		sleeps += threads[i].sleeps;
		dequeues += threads[i].dequeues;
		spins += threads[i].spins;
	}
	ok(true, "%d threads: nobody is stuck", nworkers);
	ok(nbroken == 0, "what a lock protects is never seen half changed");
	ok(counts, "no change is lost");
	ok(nbehind == 0, "no insertion is missed");
	ok(nwrong_var == 0, "no variable is reported as changed that has not");
	ok(words, "all words and lists are as they were");
	ok(semaphores, "all semaphores have what was posted for no reason");
	ok(sleeps > 0, "there was contention");
	printf("# %.0f operations per second; %llu sleeps, %llu dequeued in vain, %llu had by spinning\n",
		   done_by_all() / seconds, (unsigned long long) sleeps, (unsigned long long) dequeues,
		   (unsigned long long) spins);
}

int
main(int argc, char **argv)
{
	double		seconds = argc > 1 ? atof(argv[1]) : 5;
	pthread_t	server;

	nworkers = 2 * sysconf(_SC_NPROCESSORS_ONLN) + 4;
	if (nworkers > MAX_THREADS - 1)
		nworkers = MAX_THREADS - 1;
	for (int j = 0; j < NLOCKS + NSLOTS; j++)
	{
		lock_number(j)->word = LC_RELEASE_OK;
		lock_number(j)->waiters.head = lock_number(j)->waiters.tail = LC_END;
	}
	for (int i = 0; i <= nworkers; i++)
	{
		sem_init(&threads[i].semaphore, 0, 0);
		threads[i].dice = i + 1;
	}
	for (int i = 0; i < nworkers; i++)
		pthread_create(&workers[i].thread, NULL, work, (void *) (intptr_t) i);
	pthread_create(&server, NULL, serve, (void *) (intptr_t) nworkers);

	for (double waited = 0; waited < seconds; waited += 0.1)
	{
		usleep(100000);
		check_progress();
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	join_all();
	__atomic_store_n(&ended, 1, __ATOMIC_RELAXED);
	pthread_join(server, NULL);
	check_end(seconds);
	return tap_done();
}
