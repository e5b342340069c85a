// Whose a process is: `owner` records.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_OWNER_EVENTS_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_OWNER_EVENTS_BPF_H_

#include "runtime/recorder/kernel/bpf/programs/marked_processes.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/ring_writer.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/thread_ids.bpf.h"

struct owner {
  __u64 cgroup;
  __u32 uid, unused;
};

// The owner that a process's last record has, by the host's pid: most processes
// have one record in their life.
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 8192);
  __type(key, __u32);
  __type(value, struct owner);
} owners SEC(".maps");

// The process of `task` begins (`forked`), execs or ends. A change of user or
// cgroup has no event of its own.
static __always_inline void owner_event(struct task_struct* task, int forked) {
  struct countrace_ring_control* control = this_control();
  if (!is_recording(control) || !is_counted(pid_of(task))) return;
  struct owner owner = {};
  owner.uid = BPF_CORE_READ(task, real_cred, uid.val);
  if (bpf_core_field_exists(task->cgroups)) {
    owner.cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
  }
  // In the root of v2 the cpu controller may have a v1 hierarchy of its own.
  if (bpf_core_field_exists(task->sched_task_group) &&
      BPF_CORE_READ(task, cgroups, dfl_cgrp, level) == 0 &&
      BPF_CORE_READ(task, sched_task_group, css.cgroup, level) > 0) {
    owner.cgroup =
        BPF_CORE_READ(task, sched_task_group, css.cgroup, kn, id) | 1ULL << 63;
  }
  const __u32 host = task->tgid;
  const struct owner* known = bpf_map_lookup_elem(&owners, &host);
  if (!forked && known && known->uid == owner.uid &&
      known->cgroup == owner.cgroup) {
    return;
  }
  bpf_map_update_elem(&owners, &host, &owner, BPF_ANY);
  const struct pid* of = BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]);
  const __u32 level = BPF_CORE_READ(of, level);
  __u64 now = 0;
  __u32* record = (__u32*)reserve(control, 32, &now);
  if (!record) return;
  record[2] = pid_of(task);
  record[3] = owner.uid;
  ((__u64*)record)[2] = owner.cgroup;
  record[6] = of ? number_at(of, level).nr : 0;
  record[7] = host;
  commit((__u64*)record, EVENT_OWNER, now);
}

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_OWNER_EVENTS_BPF_H_
