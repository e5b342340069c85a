// Writes records of the programs into the CPU's ring. No wake-up: the recorder
// polls.
//
// Contexts: programs of tasks may be preempted by the switch program on the
// same CPU, and an interrupt's programs may interrupt all. Room is therefore
// reserved with a compare-exchange that fails if another program reserved room
// since the clock and the counters were read. A record is valid when its header
// word is stored.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_RING_WRITER_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_RING_WRITER_BPF_H_

#include <linux/bpf.h>
#include <linux/types.h>
// (the helpers need the types)
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "runtime/recorder/kernel/bpf/programs/kernel_types.bpf.h"
#include "runtime/recorder/kernel/hooks/kernel_ring.h"

// Event ids of logformat/packet_layout.h (a test compares them).
enum {
  EVENT_DISPATCH = 1,
  EVENT_COUNTERS = 2,
  EVENT_FORK = 3,
  EVENT_EXEC = 4,
  EVENT_COMM = 5,
  EVENT_EXIT = 6,
  EVENT_FAULT = 7,
  EVENT_PROCESS_STATE = 8,
  EVENT_SWITCH_IN = 9,
  EVENT_WAKEUP = 10,
  EVENT_OWNER = 11,
};

// Set before the programs are loaded: constants to the verifier.
const volatile __u32 ring_mask = 4095;
// Words of a dump.
const volatile __u32 counter_count = 0;
const volatile __u32 slot_count = 1;
// The ring of a CPU: its slot + 1, 0 for none. Only online CPUs have a ring: a
// machine may support hundreds of CPUs and have few.
const volatile __u16 cpu_slot[COUNTRACE_MAX_CPUS] = {};
// Number of always-on events, which come first.
const volatile __u32 always_count = 0;
const volatile __u8 counter_source[COUNTRACE_MAX_COUNTERS] = {};
// Some source is COUNTRACE_SOURCE_EXEC_RUNTIME.
const volatile __u8 counts_exec = 0;
// With multiplexed event sets: event + 1 for each value of each set, 0 for
// none.
const volatile __u8 has_sets = 0;
const volatile __u16 set_event[COUNTRACE_MAX_SETS * COUNTRACE_MAX_COUNTERS] =
    {};

// One element for each slot: the ring's bytes and the slack.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __uint(key_size, 4);
  __uint(value_size, 4096 + COUNTRACE_RING_SLACK);
} rings SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct countrace_ring_control);
} ring_controls SEC(".maps");

// Perf events: counter * slot_count + slot.
struct {
  __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
  __uint(max_entries, 1);
  __uint(key_size, 4);
  __uint(value_size, 4);
} perf_events SEC(".maps");

// No element of a map has the slot of a CPU without a ring.
static __always_inline __u32 this_slot(void) {
  const __u32 cpu = bpf_get_smp_processor_id();
  if (cpu >= COUNTRACE_MAX_CPUS) return ~0u;
  return (__u32)cpu_slot[cpu] - 1;
}

static __always_inline struct countrace_ring_control* this_control(void) {
  const __u32 slot = this_slot();
  return bpf_map_lookup_elem(&ring_controls, &slot);
}

static __always_inline int is_recording(
    const struct countrace_ring_control* control) {
  return control && control->begin_ns && !control->ended;
}

#define load(field) (*(volatile __u64*)&(field))

// Bits 16..63: the low 48 bits of the time.
static __always_inline __u64 header_word(__u16 event, __u64 time_ns) {
  return time_ns << 16 | event;
}

// Positions are multiples of 8 anyway. The verifier must see it, or it refuses
// commit()'s exchange on the architectures that have one.
static __always_inline __u64* at_position(char* ring, __u64 position) {
  return (__u64*)(ring + (position & ring_mask & ~7ull));
}

// Position and time of the next record: records reserved there are in the order
// of their times.
struct place {
  __u64 head, now;
};

static __always_inline struct place next_place(
    const struct countrace_ring_control* control) {
  struct place place = {.head = load(control->head)};
  place.now = bpf_ktime_get_ns();
  return place;
}

enum reserved { RESERVED, RESERVE_FULL, RESERVE_AGAIN };

// Reserves `bytes` at `place`; RESERVE_AGAIN if an interrupt's program was
// faster, so that the record would be older than the one before it.
static __always_inline enum reserved reserve_at(
    struct countrace_ring_control* control, __u32 bytes,
    const struct place* place, __u64** record) {
  const __u32 slot = this_slot();
  char* ring = bpf_map_lookup_elem(&rings, &slot);
  if (!ring) return RESERVE_FULL;
  const __u64 lost = load(control->lost);
  const __u32 before = lost != load(control->lost_said) ? 16 : 0;
  const __u64 head = place->head;
  if (head + before + bytes - load(control->tail) > (__u64)ring_mask + 1) {
    return RESERVE_FULL;
  }
  if (__sync_val_compare_and_swap(&control->head, head,
                                  head + before + bytes) != head) {
    return RESERVE_AGAIN;
  }
  if (before) {
    __u64* entry = at_position(ring, head);
    control->lost_said = lost;
    entry[1] = lost;
    *(volatile __u64*)entry = header_word(COUNTRACE_EVENT_LOST, place->now);
  }
  *record = at_position(ring, head + before);
  return RESERVED;
}

// Reserves `bytes` in this CPU's ring and sets the record's time. Null: no
// room.
static __always_inline __u64* try_reserve(
    struct countrace_ring_control* control, __u32 bytes, __u64* now) {
  // All tries fail only if an interrupt comes in each of them.
  for (int i = 0; i < 8; ++i) {
    const struct place place = next_place(control);
    __u64* record = 0;
    const enum reserved result = reserve_at(control, bytes, &place, &record);
    *now = place.now;
    if (result == RESERVED) return record;
    if (result == RESERVE_FULL) break;
  }
  return 0;
}

// The same; without room, a record is counted as lost.
static __always_inline __u64* reserve(struct countrace_ring_control* control,
                                      __u32 bytes, __u64* now) {
  __u64* const record = try_reserve(control, bytes, now);
  if (!record) __sync_fetch_and_add(&control->lost, 1);
  return record;
}

// The same at a given time, where no program interrupts.
static __always_inline __u64* reserve_known(
    struct countrace_ring_control* control, __u32 bytes, __u64 now) {
  const struct place place = {load(control->head), now};
  __u64* record = 0;
  if (reserve_at(control, bytes, &place, &record) == RESERVED) return record;
  __sync_fetch_and_add(&control->lost, 1);
  return 0;
}

static __always_inline void commit(__u64* record, __u16 event, __u64 time_ns) {
#ifdef __TARGET_ARCH_x86
  // Compiler barrier: a program that interrupts sees the stores in order.
  __asm__ volatile("" : : : "memory");
  *(volatile __u64*)record = header_word(event, time_ns);
#else
  __sync_lock_test_and_set(record, header_word(event, time_ns));
#endif
}

static __always_inline int read_event(__u32 event,
                                      struct bpf_perf_event_value* read) {
  return bpf_perf_event_read_value(
      &perf_events, event * slot_count + this_slot(), read, sizeof(*read));
}

// Error of a pinned event whose counter another user of the PMU took.
#define ERROR_REFUSED (-16)  // -EBUSY

// Stores the always-on values. Returns the mask of those that were counted. The
// PMU's events are one pinned group. If it is refused, its members show their
// last values, so the result of its first event, the leader, decides.
static __always_inline __u32 store_always_on(
    struct countrace_ring_control* control, __u64* out, __u64 time_ns) {
  __u32 present = 0;
  __u8 refused = 0;
#pragma unroll
  for (__u32 i = 0; i < COUNTRACE_MAX_COUNTERS; ++i) {
    if (i >= always_count) break;
    __u64 value = 0;
    switch (counter_source[i]) {
      case COUNTRACE_SOURCE_CLOCK:
        value = time_ns - control->begin_ns;
        break;
      case COUNTRACE_SOURCE_SWITCHES:
        value = control->switches;
        break;
      case COUNTRACE_SOURCE_FAULTS:
        value = control->faults;
        break;
      case COUNTRACE_SOURCE_EXEC_RUNTIME:
        value = control->exec_ns;
        break;
      case COUNTRACE_SOURCE_PMU:
      case COUNTRACE_SOURCE_PERF: {
        struct bpf_perf_event_value read = {};
        const __u8 grouped = counter_source[i] == COUNTRACE_SOURCE_PMU;
        const int error =
            grouped && refused ? ERROR_REFUSED : read_event(i, &read);
        if (error) {
          refused |= grouped && error == ERROR_REFUSED;
          out[i] =
              error == ERROR_REFUSED && !has_sets ? COUNTRACE_NOT_COUNTED : 0;
          continue;
        }
        value = read.counter;
        break;
      }
    }
    present |= 1u << i;
    out[i] = value;
  }
  return present;
}

// Stores a dump with its event set: a ThreadDump's word, the always-on values,
// the set's values, its running time. The set is read once, so an interrupt's
// programs see the old or the new set, never a mix.
static __always_inline void store_with_set(
    struct countrace_ring_control* control, __u64* out, __u64 time_ns) {
  const __u64 set = load(control->set);
  __u32 present = store_always_on(control, out + 1, time_ns);
  __u64 running = 0;
  __u8 refused = 0;
#pragma unroll
  for (__u32 j = 0; j < COUNTRACE_MAX_COUNTERS; ++j) {
    if (1 + always_count + j + 1 >= counter_count) break;
    struct bpf_perf_event_value read = {};
    const __u32 event =
        set_event[(set & (COUNTRACE_MAX_SETS - 1)) * COUNTRACE_MAX_COUNTERS +
                  j];
    // While the set waits, or its pinned group has no counters: not present.
    if (event && !refused && !(set & COUNTRACE_SET_WAITS)) {
      const int error = read_event(event - 1, &read);
      refused = error == ERROR_REFUSED;
      if (!error) {
        present |= 1u << (always_count + j);
        if (read.running > running) running = read.running;
      }
    }
    out[1 + always_count + j] = read.counter;
  }
  if (running) present |= 1u << (counter_count - 2);
  out[counter_count - 1] = running;
  out[0] = (set & (COUNTRACE_MAX_SETS - 1)) | (__u64)present << 32;
}

static __always_inline void store_counters(
    struct countrace_ring_control* control, __u64* out, __u64 time_ns) {
  if (has_sets) {
    store_with_set(control, out, time_ns);
  } else {
    store_always_on(control, out, time_ns);
  }
}

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_RING_WRITER_BPF_H_
