// The kernel types that the programs read, by name. Loading fills in their
// offsets from the running kernel's BTF (CO-RE), so the build needs no kernel
// headers.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_KERNEL_TYPES_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_KERNEL_TYPES_BPF_H_

#pragma clang attribute push(__attribute__((preserve_access_index)), \
                             apply_to = record)

// Clocks in ns, as of the CPU's last scheduling event; `clock_task` is `clock`
// without stolen time.
struct rq {
  unsigned long long clock, clock_task;
};
struct cfs_rq {
  struct rq* rq;
  int throttle_count;   // it or one above is throttled; CONFIG_CFS_BANDWIDTH
  int runtime_enabled;  // it has a quota of its own
};
struct cpumask {
  unsigned long bits[1];
};
typedef struct cpumask cpumask_t;
struct sched_entity {
  unsigned long long exec_start;        // last update, by `clock_task`
  unsigned long long sum_exec_runtime;  // ns on a CPU until then
  struct cfs_rq* cfs_rq;                // CONFIG_FAIR_GROUP_SCHED
  struct sched_entity* parent;
};
// CONFIG_SCHED_INFO; not kept for idle.
struct sched_info {
  unsigned long pcount;             // number of switch-ins
  unsigned long long last_arrival;  // time of the last one, by `clock`
};

typedef struct {
  int counter;
} atomic_t;

// A thread's or process's number in each pid namespace that contains it.
struct ns_common {
  unsigned inum;  // inode
};
struct pid_namespace {
  struct ns_common ns;
};
struct upid {
  int nr;
  struct pid_namespace* ns;
};
struct pid {
  unsigned level;  // of the innermost one; 0: the host's
  struct upid numbers[1];
};

struct signal_struct {
  atomic_t live;  // threads of the process that have not ended
  struct pid* pids[4];
};

// The flags that mark a 32-bit system call (x86).
struct thread_info {
  unsigned status;
  unsigned long long preempt_count;  // arm64: with need_resched above it
};

// Registers of user code at a system call, which keep its number. "___" makes a
// second definition of a kernel type for CO-RE.
struct pt_regs___syscall {
#if defined(__TARGET_ARCH_x86)
  unsigned long orig_ax;
  unsigned long r12, ip;
  unsigned long di, si, dx, r10, r8, r9;
#elif defined(__TARGET_ARCH_arm64)
  int syscallno;
  unsigned long long regs[31], pc, orig_x0;
#else
  unsigned long gpr[32], orig_gpr3;
#endif
};

// The user, and the cgroup in the v2 hierarchy.
typedef struct {
  unsigned val;
} kuid_t;
struct cred {
  kuid_t uid;
};
struct kernfs_node {
  unsigned long long id;
};
struct cgroup {
  struct kernfs_node* kn;
  int level;  // 0: the root
};
struct cgroup_subsys_state {
  struct cgroup* cgroup;
};
struct task_group {
  struct cgroup_subsys_state css;
};
struct css_set {
  struct cgroup* dfl_cgrp;
};

// The arguments of a process, and the end of its environment.
struct mm_struct {
  unsigned long arg_start, arg_end, env_end;
};

struct files_struct;
struct fs_struct;

struct task_struct {
  struct thread_info thread_info;
  struct signal_struct* signal;
  struct pid* thread_pid;  // null when the thread has been released
  struct sched_entity se;
  struct sched_info sched_info;
  unsigned flags;
  struct mm_struct* mm;
  struct files_struct* files;
  struct fs_struct* fs;
  int pagefault_disabled;  // how often
  int pid;                 // what user space calls tid
  int tgid;                // what user space calls pid
  int wake_cpu;
  int exit_state;
  unsigned __state;
  int prio;  // below 100: real time
  int nr_cpus_allowed;
  cpumask_t cpus_mask;
  unsigned short migration_disabled;
  unsigned in_execve : 1;
  _Bool throttled;  // by a CPU quota, since 6.18
  struct task_struct* real_parent;
  const struct cred* real_cred;
  struct css_set* cgroups;
  struct task_group* sched_task_group;
  char comm[16];
};

// The files of a process: of its mappings, of its descriptors.
struct qstr {
  unsigned long long hash_len;
  const unsigned char* name;
};
struct hlist_bl_node {
  struct hlist_bl_node** pprev;
};
struct super_block {
  unsigned long s_magic;
};
struct inode {
  unsigned long i_ino;
};
struct dentry {
  struct hlist_bl_node d_hash;  // pprev is null: no name leads to it
  struct dentry* d_parent;
  struct qstr d_name;
  struct inode* d_inode;
  struct super_block* d_sb;
};
struct vfsmount {
  struct dentry* mnt_root;
};
struct mount {
  struct mount* mnt_parent;
  struct dentry* mnt_mountpoint;
  struct vfsmount mnt;
};
struct path {
  struct vfsmount* mnt;
  struct dentry* dentry;
};
struct fs_struct {
  struct path pwd;
};
struct file {
  struct path f_path;
  struct inode* f_inode;
};
struct fdtable {
  unsigned max_fds;
  struct file** fd;
};
struct files_struct {
  struct fdtable* fdt;
};
struct vm_area_struct {
  unsigned long vm_start;
  unsigned long vm_pgoff;  // of the file, in pages
  struct file* vm_file;
};

// A program that begins.
struct linux_binprm {
  struct file* file;
  const char* interp;
};

struct irqaction;

#pragma clang attribute pop

// Whether a CPU quota stops a thread that could go on. Before 6.18 the kernel
// stops a group, at once; since then each thread on its way back to user code.
static __always_inline int is_throttled(const struct task_struct* prev) {
  if (bpf_core_field_exists(prev->throttled)) return prev->throttled;
  return bpf_core_field_exists(prev->se.cfs_rq) &&
         bpf_core_field_exists(prev->se.cfs_rq->throttle_count) &&
         prev->prio >= 100 && prev->se.cfs_rq->throttle_count > 0;
}

// Context of a perf_event program (uapi/linux/bpf_perf_event.h); only the
// address is read.
#include <linux/bpf_perf_event.h>

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_KERNEL_TYPES_BPF_H_
