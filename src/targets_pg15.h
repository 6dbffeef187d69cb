/*
 * targets_pg15.h
 *	  The functions of PostgreSQL 15 that lwtune redirects.
 *
 * TARGET(return type, name, parameters, arguments), included once for each
 * use: the table of the takeover, the recording stand-ins of the self-test.
 * No include guard, on purpose.
 *
 * The first group is every exported function of lwlock.c that touches
 * held_lwlocks, num_held_lwlocks or a wait list; the second shares
 * spins_per_delay of s_lock.c; the third shares the table of tranche names.
 */
TARGET(bool, LWLockAcquire, (LWLock *lock, LWLockMode mode), (lock, mode))
TARGET(bool, LWLockConditionalAcquire, (LWLock *lock, LWLockMode mode), (lock, mode))
TARGET(bool, LWLockAcquireOrWait, (LWLock *lock, LWLockMode mode), (lock, mode))
TARGET(bool, LWLockWaitForVar, (LWLock *lock, uint64 *valptr, uint64 oldval, uint64 *newval), (lock, valptr, oldval, newval))
TARGET(void, LWLockUpdateVar, (LWLock *lock, uint64 *valptr, uint64 val), (lock, valptr, val))
TARGET(void, LWLockRelease, (LWLock *lock), (lock))
TARGET(void, LWLockReleaseClearVar, (LWLock *lock, uint64 *valptr, uint64 val), (lock, valptr, val))
TARGET(void, LWLockReleaseAll, (void), ())
TARGET(void, ForEachLWLockHeldByMe, (void (*callback) (LWLock *, LWLockMode, void *), void *context), (callback, context))
TARGET(bool, LWLockHeldByMe, (LWLock *lock), (lock))
TARGET(bool, LWLockAnyHeldByMe, (LWLock *lock, int nlocks, size_t stride), (lock, nlocks, stride))
TARGET(bool, LWLockHeldByMeInMode, (LWLock *lock, LWLockMode mode), (lock, mode))

TARGET(int, s_lock, (volatile slock_t *lock, const char *file, int line, const char *func), (lock, file, line, func))
TARGET(void, perform_spin_delay, (SpinDelayStatus *status), (status))
TARGET(void, finish_spin_delay, (SpinDelayStatus *status), (status))
TARGET(void, set_spins_per_delay, (int shared_spins_per_delay), (shared_spins_per_delay))
TARGET(int, update_spins_per_delay, (int shared_spins_per_delay), (shared_spins_per_delay))

TARGET(void, LWLockRegisterTranche, (int tranche_id, const char *tranche_name), (tranche_id, tranche_name))
TARGET(const char *, GetLWLockIdentifier, (uint32 classId, uint16 eventId), (classId, eventId))
