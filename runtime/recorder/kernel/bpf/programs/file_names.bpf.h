// HOT. The files of descriptors: each has a number in the records of one CPU's
// ring, which an entry before the first of these records defines.
//
// A file is known by its names' place in the kernel's cache and its inode. A
// folder above it that gets another name is noticed if a call of any process
// did it while calls were recorded.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_FILE_NAMES_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_FILE_NAMES_BPF_H_

#include "runtime/recorder/kernel/bpf/programs/ring_writer.bpf.h"

#define CURRENT_FOLDER (-100)  // AT_FDCWD
// Folders above a file, with the mounts that are crossed; bytes of all names.
#define MOST_FOLDERS 64
#define NAME_BYTES 256
#define NAMES_BYTES 1024

// The begin of a dentry, by which files differ: one read in place of four.
struct dentry_begin {
  char bytes[96];
};

// The recorder makes it one element for each slot: the key of the file that has
// the number. Only system calls use it, and no two on one CPU at a time.
struct file_keys {
  __u64 keys[COUNTRACE_FILE_NUMBERS];
  struct dentry_begin begin;  // here, as stack is scarce
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct file_keys);
} known_files SEC(".maps");

struct file_entry {
  char names[NAMES_BYTES + NAME_BYTES];
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct file_entry);
} file_entries SEC(".maps");

// Calls that gave files other names, and returns to recording calls.
__u64 renames = 0;

struct name_walk {
  const struct dentry* dentry;
  const struct vfsmount* mount;
  __u64 bytes;
  __u64 ended;
};

// Adds one name, or goes to the mount above.
static long add_name(__u32 step, struct name_walk* walk) {
  const struct dentry* const at = walk->dentry;
  const struct vfsmount* const in = walk->mount;
  const struct dentry* const parent = BPF_CORE_READ(at, d_parent);
  const __u64 bytes = walk->bytes;
  if (at == BPF_CORE_READ(in, mnt_root)) {
    const struct mount* const mount =
        (const void*)((const char*)in -
                      bpf_core_field_offset(struct mount, mnt));
    const struct mount* const above = BPF_CORE_READ(mount, mnt_parent);
    if (above == mount) {
      walk->ended = 1;
      return 1;
    }
    walk->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
    walk->mount = (const void*)((const char*)above +
                                bpf_core_field_offset(struct mount, mnt));
    return 0;
  }
  const __u32 zero = 0;
  struct file_entry* entry = bpf_map_lookup_elem(&file_entries, &zero);
  if (!entry || bytes >= NAMES_BYTES) return 1;
  const long added =
      bpf_probe_read_kernel_str(entry->names + (bytes & (NAMES_BYTES - 1)),
                                NAME_BYTES, BPF_CORE_READ(at, d_name.name));
  if (added <= 0) return 1;
  walk->bytes = bytes + added;
  walk->dentry = parent;
  // Files without a folder: pipes, sockets, memfd_create().
  walk->ended = at == parent;
  return at == parent;
}

// Returns: whether the entry is in the ring.
static __always_inline int define_file(struct countrace_ring_control* control,
                                       __u32 number, const struct path* path,
                                       __u64 inode, int unlinked) {
  const __u32 zero = 0;
  struct file_entry* entry = bpf_map_lookup_elem(&file_entries, &zero);
  if (!entry) return 0;
  struct name_walk walk = {path->dentry, path->mnt, 0, 0};
  bpf_loop(MOST_FOLDERS, add_name, &walk, 0);
  __u64 bytes = walk.bytes;
  if (bytes > sizeof(entry->names)) return 0;
  __u64 now = 0;
  const __u32 size = COUNTRACE_FILE_HEAD_BYTES + ((bytes + 7) & ~7ull);
  // Without room the record that needs it counts as lost, or says so.
  __u64* record = try_reserve(control, size, &now);
  if (!record) return 0;
  // The root of a mount never had a name.
  const struct vfsmount* const in = path->mnt;
  unlinked = unlinked && path->dentry != BPF_CORE_READ(in, mnt_root);
  const __u64 flags = (unlinked ? COUNTRACE_FILE_UNLINKED : 0) |
                      (walk.ended ? 0 : COUNTRACE_FILE_CUT);
  record[1] = number | flags << 16 | bytes << 32;
  record[2] = inode;
  record[3] = BPF_CORE_READ(path->dentry, d_sb, s_magic);
  bpf_probe_read_kernel(record + 4, bytes, entry->names);
  commit(record, COUNTRACE_EVENT_FILE, now);
  return 1;
}

static __always_inline __u64 mixed(__u64 key, __u64 value) {
  key = (key ^ value) * 0x9e3779b97f4a7c15ull;
  return key ^ key >> 32;
}

// The path behind a descriptor of this process; no dentry: it is not open.
static __always_inline void find_path(int fd, struct path* path) {
  const struct task_struct* task = bpf_get_current_task_btf();
  if (fd == CURRENT_FOLDER) {
    bpf_core_read(path, sizeof(*path), &task->fs->pwd);
    return;
  }
  const struct fdtable* const table = task->files->fdt;
  if ((__u32)fd >= table->max_fds) return;
  struct file* file = 0;
  bpf_probe_read_kernel(&file, sizeof(file), table->fd + (__u32)fd);
  if (file) bpf_core_read(path, sizeof(*path), &file->f_path);
}

#define IN_DENTRY(field)                                                \
  (bpf_core_field_offset(struct dentry, field) <= sizeof(*begin) - 8    \
       ? *(__u64*)(begin->bytes +                                       \
                   (bpf_core_field_offset(struct dentry, field) & 127)) \
       : (__u64)BPF_CORE_READ(dentry, field))

// 1 + the number of the descriptor's file in this CPU's ring; 0: none;
// COUNTRACE_FILE_UNNAMED. Not inline: the verifier walks it once.
__noinline __u64 file_number(int fd) {
  struct path path = {};
  struct countrace_ring_control* control = this_control();
  if (!control) return 0;
  find_path(fd, &path);
  if (!path.dentry) return 0;
  const struct dentry* const dentry = path.dentry;
  const __u32 slot = this_slot();
  struct file_keys* known = bpf_map_lookup_elem(&known_files, &slot);
  if (!known) return 0;
  struct dentry_begin* const begin = &known->begin;
  if (bpf_probe_read_kernel(begin, sizeof(*begin), dentry) != 0) return 0;
  const struct inode* const node = (const void*)IN_DENTRY(d_inode);
  const __u64 inode = BPF_CORE_READ(node, i_ino);
  const int unlinked = !IN_DENTRY(d_hash.pprev);
  __u64 key = mixed(renames << 1 | unlinked, (__u64)dentry);
  key = mixed(key, (__u64)path.mnt);
  key = mixed(key, inode);
  key = mixed(key, IN_DENTRY(d_parent));
  key = mixed(key, IN_DENTRY(d_name.hash_len)) | 1;
  const __u32 number = key >> 52;
  __u64* const at = &known->keys[number & (COUNTRACE_FILE_NUMBERS - 1)];
  if (*at != key) {
    if (!define_file(control, number, &path, inode, unlinked)) {
      return COUNTRACE_FILE_UNNAMED;
    }
    *at = key;
  }
  return number + 1;
}

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_FILE_NAMES_BPF_H_
