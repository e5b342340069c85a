#include "logformat/repair/thread_ids.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "absl/strings/str_format.h"
#include "base/posix/file_mapping.h"
#include "base/posix/scoped_fd.h"
#include "logformat/packet_checksum.h"

namespace countrace::logformat {

ThreadIds::ThreadIds(const std::string& directory) {
  const auto file = base::FileMapping::Open(directory + "/" + kThreadIdsFile);
  if (!file.ok()) return;
  // A torn entry at the end is left out.
  const std::span<const std::byte> bytes = file->bytes();
  for (std::size_t at = 0; at + sizeof(ThreadIdsEntry) <= bytes.size();
       at += sizeof(ThreadIdsEntry)) {
    ThreadIdsEntry entry;
    std::memcpy(&entry, bytes.data() + at, sizeof(entry));
    entries_[{entry.pid_namespace, entry.own_tid}].push_back(entry);
  }
  for (auto& [key, entries] : entries_) {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const ThreadIdsEntry& a, const ThreadIdsEntry& b) {
                       return a.time_ns < b.time_ns;
                     });
  }
}

std::int32_t ThreadIds::NumberFor(const Key& key) {
  const auto [at, added] = unknown_.try_emplace(key, 0);
  if (added) {
    at->second = kUnknownIds + static_cast<std::int32_t>(unknown_.size() - 1);
  }
  return at->second;
}

void ThreadIds::Translate(PacketHead& head) {
  if ((head.flags & kPacketOtherNamespace) == 0) return;
  const Key thread = {head.present, head.tid};
  const ThreadIdsEntry* entry = nullptr;
  if (const auto found = entries_.find(thread); found != entries_.end()) {
    // The latest one before the packet: a number is used again, and so is the
    // inode of a namespace.
    for (const ThreadIdsEntry& each : found->second) {
      if (each.own_pid != head.pid) continue;
      if (entry == nullptr || each.time_ns <= head.begin_ns) entry = &each;
    }
  }
  if (entry != nullptr) {
    head.pid = entry->pid;
    head.tid = entry->tid;
  } else {
    const std::int32_t pid = NumberFor({head.present, head.pid});
    head.tid = head.tid == head.pid ? pid : NumberFor(thread);
    head.pid = pid;
  }
  head.present = 0;
  head.flags &= ~static_cast<std::uint32_t>(kPacketOtherNamespace);
}

absl::Status ThreadIds::TranslateStream(const std::string& path) {
  const base::ScopedFd file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  const auto failed = [&path] {
    return absl::ErrnoToStatus(
        errno, absl::StrFormat("Cannot number the threads of %s", path));
  };
  if (!file.is_open()) return failed();
  PacketHead head;
  off_t at = 0;
  while (pread(file.get(), &head, sizeof(head), at) == sizeof(head) &&
         head.packet_bits >= 8 * sizeof(head)) {
    if ((head.flags & kPacketOtherNamespace) != 0) {
      const PacketHead before = head;
      Translate(head);
      if (before.checksum != 0) head.checksum = ChangedChecksum(before, head);
      if (pwrite(file.get(), &head, sizeof(head), at) != sizeof(head)) {
        return failed();
      }
    }
    at += static_cast<off_t>(head.packet_bits / 8);
  }
  return absl::OkStatus();
}

}  // namespace countrace::logformat
