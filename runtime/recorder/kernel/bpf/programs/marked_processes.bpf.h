// The marked processes, and the ones that are counted. The recorder sets marks;
// so do the programs here, when a process gets a marked name, user or cgroup.
// Marks are inherited at fork, kept over exec, dropped at exit (POWER2:
// MSR(PM)). Records of processes that are not counted are not written. The
// recorder filters dispatches, because it needs the last of the others as a
// bound.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_MARKED_PROCESSES_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_MARKED_PROCESSES_BPF_H_

#include "runtime/recorder/kernel/bpf/programs/ring_writer.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/thread_ids.bpf.h"

// Set before the programs are loaded. Both 1: all processes are counted.
const volatile __u32 count_marked = 1;
const volatile __u32 count_unmarked = 1;
// 0: marks are not needed.
const volatile __u32 follows_marks = 0;
// Properties that mark a process, beside the recorder's marks.
const volatile __u32 mark_globs_count = 0;
const volatile __u32 mark_users_count = 0;
const volatile __u32 mark_cgroups_count = 0;
const volatile __u32 mark_users[COUNTRACE_MAX_MARKS] = {};
const volatile __u64 mark_cgroups[COUNTRACE_MAX_MARKS] = {};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, COUNTRACE_MAX_MARKS);
  __type(key, __u32);
  __type(value, struct countrace_comm_glob);
} mark_globs SEC(".maps");

// Keys: pids. Room for the default limit of processes; processes without room
// are counted.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 65536);
  __type(key, __u32);
  __type(value, __u8);
} marked_processes SEC(".maps");

__u64 marks_refused = 0;

// The recorder's child that will be the command, until its execve; 0: none.
__u32 starting_pid = 0;
const volatile __u32 execve_number = 0;

static __always_inline int has_mark(__u32 pid) {
  return bpf_map_lookup_elem(&marked_processes, &pid) != 0;
}

static __always_inline int is_counted(__u32 pid) {
  if (count_marked && count_unmarked) return 1;
  return has_mark(pid) ? count_marked : count_unmarked;
}

static __always_inline int set_mark(__u32 pid) {
  const __u8 mark = 1;
  if (bpf_map_update_elem(&marked_processes, &pid, &mark, BPF_ANY) == 0) {
    return 1;
  }
  __sync_fetch_and_add(&marks_refused, 1);
  return 0;
}

// Writes a record that the process of `task` is marked from now on.
static __always_inline void mark_event(const struct task_struct* task,
                                       const char* comm) {
  struct countrace_ring_control* control = this_control();
  if (!is_recording(control)) return;
  __u64 now = 0;
  __u32* record = (__u32*)reserve(control, 40, &now);
  if (!record) return;
  record[2] = pid_of(task);
  record[3] = record[2];
  record[4] = pid_of(task->real_parent);
  record[5] = COUNTRACE_STATE_MARKED;
  record[6] = record[7] = record[8] = record[9] = 0;
  bpf_probe_read_kernel_str(record + 6, COUNTRACE_COMM_BYTES, comm);
  commit((__u64*)record, EVENT_PROCESS_STATE, now);
}

static __always_inline int is_marked_name(const char* comm) {
  char name[COUNTRACE_COMM_BYTES] = {};
  bpf_probe_read_kernel_str(name, sizeof(name), comm);
  for (__u32 i = 0; i < COUNTRACE_MAX_MARKS; ++i) {
    if (i >= mark_globs_count) break;
    const __u32 key = i;
    const struct countrace_comm_glob* glob =
        bpf_map_lookup_elem(&mark_globs, &key);
    if (glob && countrace_comm_glob_matches(glob, name)) return 1;
  }
  return 0;
}

// Whether the user or cgroup of the process on the CPU is marked.
static __always_inline int is_marked_owner(void) {
  const __u32 uid = (__u32)bpf_get_current_uid_gid();
  for (__u32 i = 0; i < COUNTRACE_MAX_MARKS; ++i) {
    if (i >= mark_users_count) break;
    if (mark_users[i] == uid) return 1;
  }
  if (!mark_cgroups_count) return 0;
  for (int level = 0; level < COUNTRACE_CGROUP_LEVELS; ++level) {
    const __u64 id = bpf_get_current_ancestor_cgroup_id(level);
    if (!id) break;
    for (__u32 i = 0; i < COUNTRACE_MAX_MARKS; ++i) {
      if (i >= mark_cgroups_count) break;
      if (mark_cgroups[i] == id) return 1;
    }
  }
  return 0;
}

// `task` is on the CPU; its name is `comm`, now or after this event.
static __always_inline void mark_if_named(const struct task_struct* task,
                                          const char* comm) {
  if (!mark_globs_count || task->pid != task->tgid) return;
  const __u32 pid = pid_of(task);
  if (has_mark(pid) || !is_marked_name(comm)) return;
  if (set_mark(pid)) mark_event(task, comm);
}

// `task` is on the CPU. A change of user or cgroup has no event of its own.
static __always_inline void mark_if_owned(const struct task_struct* task) {
  if (!mark_users_count && !mark_cgroups_count) return;
  const __u32 pid = pid_of(task);
  if (pid == 0 || has_mark(pid) || !is_marked_owner()) return;
  if (set_mark(pid)) mark_event(task, task->comm);
}

static __always_inline void inherit_mark(const struct task_struct* parent,
                                         const struct task_struct* child) {
  if (!follows_marks || child->tgid == parent->tgid) return;
  if (has_mark(pid_of(parent))) set_mark(pid_of(child));
}

// Called with the process's last thread: its pid may soon be reused.
static __always_inline void drop_mark(const struct task_struct* task) {
  if (!follows_marks || task->signal->live.counter != 0) return;
  const __u32 pid = pid_of(task);
  bpf_map_delete_elem(&marked_processes, &pid);
}

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_MARKED_PROCESSES_BPF_H_
