# sched.mk: the deterministic scheduler, its mutants, and the threads.
#
#   make check                   includes a bounded amount of all of them
#   make deep MINUTES=10         goes on with new seeds and wider bounds
#   make replay SEED=schedule    one schedule step by step, by the name that a
#                                failure printed; MUTANT=name if it was a mutant's

MINUTES ?= 10

SCHED_PARTS = sched_run sched_choice sched_memory sched_shim sched_program sched_action sched_check test_lock_sched
SCHED_OBJS = $(SCHED_PARTS:%=$(BUILD)/sched/%.o)
MUTANTS := $(shell perl mutate names)
# of these, ThreadSanitizer has to see a race
TSAN_MUTANTS = wake_without_barrier list_lock_not_atomic queue_unlocked

SCHED_CFLAGS = -std=gnu99 -O2 -g -Wall -Wextra -Werror -Wdeclaration-after-statement \
	-Wmissing-prototypes -D_GNU_SOURCE -U_FORTIFY_SOURCE
# see sched_shim.c; with optimization, accesses would be missing
SCHED_CORE_CFLAGS = $(SCHED_CFLAGS) -O0 -fsanitize=thread
TSAN_CFLAGS = $(SCHED_CFLAGS) -O1 -fsanitize=thread

# its library does not start where too much of an address is random
test_lock_tsan_RUN := $(shell setarch -R true 2>/dev/null && echo setarch -R)

.PHONY: deep replay

$(BUILD)/sched/%.o: %.c $(HEADERS) Makefile sched.mk
	@mkdir -p $(@D)
	$(CC) $(SCHED_CFLAGS) -c -o $@ $<

$(BUILD)/sched/sched_core.o: sched_core.c $(HEADERS) Makefile sched.mk
	@mkdir -p $(@D)
	$(CC) -I$(SRC) $(SCHED_CORE_CFLAGS) -DLC_MUTANT=NULL -c -o $@ $<

$(BUILD)/test_lock_sched: $(SCHED_OBJS) $(BUILD)/sched/sched_core.o
	$(CC) -o $@ $^

# Mutants: sources with all mutations, of which a macro selects one.
$(BUILD)/mutants/lock_core.h: mutate mutants.list $(HEADERS)
	@mkdir -p $(@D)
	perl mutate make $(SRC) $(@D)

$(BUILD)/mutants/%.o: sched_core.c $(BUILD)/mutants/lock_core.h $(HEADERS) Makefile sched.mk
	$(CC) -I$(@D) -I$(SRC) $(SCHED_CORE_CFLAGS) -Wno-unused-function -Wno-unused-variable -Wno-unused-parameter \
		-DLC_MUTANT='"$*"' -DLC_MUTANT_$* -c -o $@ $<

$(MUTANTS:%=$(BUILD)/mutants/%): $(BUILD)/mutants/%: $(BUILD)/mutants/%.o $(SCHED_OBJS)
	$(CC) -o $@ $^

$(TSAN_MUTANTS:%=$(BUILD)/mutants/tsan_%): $(BUILD)/mutants/tsan_%: test_lock_threads.c $(BUILD)/mutants/lock_core.h $(HEADERS)
	$(CC) -I$(@D) -I$(SRC) $(TSAN_CFLAGS) -DLC_MUTANT_$* -o $@ $< -lpthread

$(BUILD)/test_lock_mutants: test_lock_mutants.pl $(MUTANTS:%=$(BUILD)/mutants/%) $(TSAN_MUTANTS:%=$(BUILD)/mutants/tsan_%)
	cp $< $@
	chmod +x $@

# Threads.
$(BUILD)/test_lock_threads: test_lock_threads.c $(HEADERS) Makefile sched.mk
	@mkdir -p $(BUILD)
	$(CC) -I$(SRC) $(SCHED_CFLAGS) -o $@ $< -lpthread

$(BUILD)/test_lock_tsan: test_lock_threads.c $(HEADERS) Makefile sched.mk
	@mkdir -p $(BUILD)
	$(CC) -I$(SRC) $(TSAN_CFLAGS) -o $@ $< -lpthread

deep: $(BUILD)/test_lock_sched $(BUILD)/test_lock_threads $(BUILD)/test_lock_tsan
	@status=0; \
	$(BUILD)/test_lock_sched deep $(MINUTES) || status=1; \
	$(BUILD)/test_lock_threads $$(($(MINUTES) * 6)) || status=1; \
	$(test_lock_tsan_RUN) $(BUILD)/test_lock_tsan $$(($(MINUTES) * 6)) || status=1; \
	exit $$status

replay: $(if $(MUTANT),$(BUILD)/mutants/$(MUTANT),$(BUILD)/test_lock_sched)
	@$< replay $(SEED)
