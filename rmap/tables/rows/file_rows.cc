#include "rmap/tables/rows/file_rows.h"

#include <algorithm>
#include <tuple>

namespace countrace::rmap {
namespace {

std::uint64_t FailedOf(const SegmentRow& calls) {
  std::uint64_t failed = 0;
  for (const auto& [error, times] : *calls.errors) failed += times;
  return failed;
}

}  // namespace

void FileRows::Add(const SegmentRow& calls, FileUse use,
                   std::uint64_t moved_bytes) {
  if (use == FileUse::kNone || !calls.errors) return;
  std::optional<std::string> file;
  if (calls.grouped.argument) file = *calls.grouped.argument;
  Sum& sum = sums_[{calls.process, file}];
  FileRow& row = sum.row;
  row.file = std::move(file);
  row.pid = calls.pid;
  row.process = calls.process;
  row.comm = calls.comm;
  AddCalls(calls, row);
  sum.limits.Add(calls);
  const Bounds limits = CallLimits::Of(calls, Number::kCalls, calls.calls);
  switch (use) {
    case FileUse::kOpen:
      row.opens += calls.calls;
      row.failed_opens += FailedOf(calls);
      CallLimits::Add(limits, sum.opens);
      break;
    case FileUse::kRead:
      row.reads += calls.calls;
      row.read_bytes += moved_bytes;
      CallLimits::Add(limits, sum.reads);
      break;
    case FileUse::kWrite:
      row.writes += calls.calls;
      row.written_bytes += moved_bytes;
      CallLimits::Add(limits, sum.writes);
      break;
    case FileUse::kOther:
    case FileUse::kNone:
      break;
  }
  // What a call without its exit moved is not known, nor whether it failed.
  sum.bytes_unsure |= calls.qualities.any();
}

std::vector<FileRow> FileRows::Take() {
  std::vector<FileRow> rows;
  for (auto& [key, sum] : sums_) {
    FileRow& row = sum.row;
    sum.limits.Set(row);
    row.bounds.Set(Number::kOpens, row.opens, sum.opens);
    row.bounds.Set(Number::kReads, row.reads, sum.reads);
    row.bounds.Set(Number::kWrites, row.writes, sum.writes);
    if (sum.bytes_unsure) {
      row.bounds.Set(Number::kFailedOpens, row.failed_opens, {0, sum.opens.hi});
      const auto at_least = [&](Number number, std::uint64_t bytes,
                                const Bounds& calls) {
        if (calls.hi != 0) row.bounds.Set(number, bytes, {0, Bounds::kNone});
      };
      at_least(Number::kReadBytes, row.read_bytes, sum.reads);
      at_least(Number::kWrittenBytes, row.written_bytes, sum.writes);
    }
    rows.push_back(std::move(row));
  }
  std::ranges::sort(rows, [](const FileRow& a, const FileRow& b) {
    return std::tie(b.wall_ns, b.calls, a.file, a.pid, a.process) <
           std::tie(a.wall_ns, a.calls, b.file, b.pid, b.process);
  });
  return rows;
}

}  // namespace countrace::rmap
