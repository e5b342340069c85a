#include "logformat/import/perf/task_records.h"

#include <linux/perf_event.h>

#include "absl/strings/str_format.h"
#include "logformat/import/perf/byte_reader.h"

namespace countrace::importer::perf {

namespace {

constexpr std::size_t kCommBytes = 16;

struct Ids {
  std::int32_t pid, parent_pid, tid, parent_tid;
};
// The ids in FORK and EXIT.
Ids ReadIds(ByteReader& body) {
  Ids ids{};
  ids.pid = body.I32();
  ids.parent_pid = body.I32();
  ids.tid = body.I32();
  ids.parent_tid = body.I32();
  return ids;
}

}  // namespace

absl::Status TaskRecords::ReadIdIndex(const RawRecord& record) {
  ByteReader body(record.body, file_.swapped);
  const std::uint64_t entries = body.U64();
  for (std::uint64_t i = 0; i < entries && body.left() >= 32; ++i) {
    body.Skip(16);
    const std::uint64_t cpu = body.U64();
    body.Skip(8);
    if (cpu <= 0xffff) cpus_.insert(static_cast<std::int32_t>(cpu));
  }
  return absl::OkStatus();
}

bool TaskRecords::TakeInitial(const RawRecord& record) {
  ByteReader body(record.body, file_.swapped);
  if (record.type == PERF_RECORD_COMM) {
    const std::int32_t pid = body.I32(), tid = body.I32();
    Task& task = initial_[tid];
    task.pid = pid;
    task.comm = body.Text(std::min(kCommBytes, body.left()));
  } else if (record.type == PERF_RECORD_FORK) {
    const Ids ids = ReadIds(body);
    Task& task = initial_[ids.tid];
    task.pid = ids.pid;
    // For a thread, perf names its own process as the parent.
    if (ids.parent_pid != ids.pid) task.parent_pid = ids.parent_pid;
    const auto parent = initial_.find(ids.parent_tid);
    if (task.comm.empty() && parent != initial_.end()) {
      task.comm = parent->second.comm;
    }
  } else if (record.type == PERF_RECORD_EXIT) {
    initial_.erase(ReadIds(body).tid);
  }
  return body.ok();
}

void TaskRecords::Describe(CpuBooks& cpu, std::uint64_t time_ns,
                           std::int32_t tid, const Task& task) {
  if (tid <= 0 || !known_.insert(tid).second) return;
  logformat::StateRecord state{};
  state.tid = tid;
  state.pid = task.pid;
  state.parent_pid = std::max(task.parent_pid, 0);
  if (!file_.system_wide) {
    state.flags = logformat::kStateMarked;
    if (root_pid_ == 0) root_pid_ = task.pid;
  }
  records_.State(cpu, time_ns, state, task.comm);
}

void TaskRecords::DescribeInitial(CpuBooks& cpu, std::uint64_t time_ns) {
  described_ = true;
  for (const auto& [tid, task] : initial_) Describe(cpu, time_ns, tid, task);
  initial_.clear();
}

void TaskRecords::Seen(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t pid,
                       std::int32_t tid) {
  if (!described_) DescribeInitial(cpu, time_ns);
  if (pid <= 0 || tid <= 0) return;
  records_.SetProcess(tid, pid);
  if (!file_.system_wide) Describe(cpu, time_ns, tid, {pid, 0, ""});
}

bool TaskRecords::OnRecord(CpuBooks& cpu, std::uint64_t time_ns,
                           const RawRecord& record) {
  ByteReader body(record.body, file_.swapped);
  if (record.type == PERF_RECORD_COMM) {
    const std::int32_t pid = body.I32(), tid = body.I32();
    const std::string comm(body.Text(std::min(kCommBytes, body.left())));
    if (!body.ok()) return false;
    records_.SetProcess(tid, pid);
    if ((record.misc & PERF_RECORD_MISC_COMM_EXEC) != 0) {
      // Another thread of the process may have called exec, and now has `tid`.
      const std::int32_t before = cpu.current;
      records_.Exec(cpu, time_ns, tid,
                    before > 0 && records_.PidOf(before) == pid ? before : -1,
                    comm);
    } else {
      records_.Name(cpu, time_ns, tid, comm);
    }
    return true;
  }
  const Ids ids = ReadIds(body);
  if (!body.ok()) return false;
  if (record.type == PERF_RECORD_EXIT) {
    records_.SetProcess(ids.tid, ids.pid);
    records_.Exit(cpu, time_ns, ids.tid);
    known_.erase(ids.tid);
    return true;
  }
  known_.insert(ids.tid);
  logformat::TaskRecord fork{};
  fork.pid = ids.pid;
  fork.tid = ids.tid;
  fork.parent_pid = ids.parent_pid;
  fork.parent_tid = ids.parent_tid;
  records_.Fork(cpu, time_ns, fork, "");
  return true;
}

}  // namespace countrace::importer::perf
