#include "rmap/babeltrace_plugin/span_spool.h"

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_format.h"

namespace countrace::rmap::babeltrace_plugin {

absl::StatusOr<std::unique_ptr<SpanSpool>> SpanSpool::Create(
    const std::string& directory, const logformat::TraceInfo& info) {
  const std::string path = directory + "/.spans";
  std::FILE* file = std::fopen(path.c_str(), "w+bex");
  if (file == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrFormat("Cannot make %s", path));
  }
  // Only this process needs the file, by its descriptor.
  std::remove(path.c_str());
  std::unique_ptr<SpanSpool> spool(new SpanSpool(file));
  for (const logformat::HookInfo& hook : info.hooks) {
    if (hook.id >= spool->names_.size()) spool->names_.resize(hook.id + 1);
    spool->names_[hook.id] = hook.FullName();
  }
  return spool;
}

SpanSpool::~SpanSpool() { std::fclose(file_); }

void SpanSpool::Write(const SpooledSpan::Head& head) {
  if (failed_) return;
  if (std::fwrite(&head, sizeof(head), 1, file_) == 1 &&
      std::fwrite(values_.data(), sizeof(std::uint64_t), values_.size(),
                  file_) == values_.size()) {
    return;
  }
  failed_ = true;
  error_ = errno;
}

absl::Status SpanSpool::Rewind() {
  if (!failed_ && std::fflush(file_) != 0) {
    failed_ = true;
    error_ = errno;
  }
  if (failed_) {
    return absl::ErrnoToStatus(
        error_,
        "Cannot keep dispatches and segments until their time comes; TMPDIR "
        "names another place");
  }
  std::rewind(file_);
  return absl::OkStatus();
}

absl::StatusOr<bool> SpanSpool::Next(SpooledSpan& span) {
  if (std::fread(&span.head, sizeof(span.head), 1, file_) != 1) {
    if (std::ferror(file_) == 0) return false;
    return absl::ErrnoToStatus(errno, "Cannot read dispatches and segments");
  }
  span.values.resize(span.head.values);
  if (std::fread(span.values.data(), sizeof(std::uint64_t), span.values.size(),
                 file_) != span.values.size()) {
    return absl::InternalError("Dispatches and segments end in the middle");
  }
  return true;
}

std::uint32_t SpanSpool::PathOf(std::uint32_t parent, std::uint32_t hook_id) {
  const auto [found, added] =
      path_numbers_.try_emplace(std::uint64_t{parent} << 32 | hook_id,
                                static_cast<std::uint32_t>(paths_.size()));
  if (added) {
    if (hook_id >= names_.size()) names_.resize(hook_id + 1);
    if (names_[hook_id].empty()) {
      names_[hook_id] = absl::StrFormat("hook:%d", hook_id);
    }
    paths_.push_back(parent == kNoPath
                         ? names_[hook_id]
                         : paths_[parent] + " > " + names_[hook_id]);
    path_ends_.push_back(hook_id);
  }
  return found->second;
}

void SpanSpool::OnDispatch(const DispatchSpan& span) {
  // Idle CPUs and threads that are not counted have no rows in the report
  // either.
  if (span.thread == kNoThread || span.outside) return;
  values_.assign(span.counts.begin(), span.counts.end());
  SpooledSpan::Head head = {};
  head.kind = SpooledSpan::Kind::kDispatch;
  head.begin_inferred = span.begin_inferred;
  head.end_inferred = span.end_inferred;
  head.on_cpu_known = head.on_cpu_exact = true;
  head.cpu = span.cpu;
  head.thread = span.thread;
  head.begin_ns = span.begin_ns;
  head.end_ns = span.end_ns;
  const std::uint64_t wall_ns =
      span.end_ns - std::min(span.begin_ns, span.end_ns);
  head.on_cpu_ns = wall_ns - std::min(span.interrupts_ns, wall_ns);
  head.known = ~std::uint64_t{0};
  head.values = static_cast<std::uint32_t>(values_.size());
  Write(head);
}

void SpanSpool::OnSegmentBegin(const SegmentBegin& begin) {
  std::vector<std::uint32_t>& calls = open_[begin.thread];
  // Deeper calls were dropped without a span.
  if (calls.size() > begin.depth) calls.resize(begin.depth);
  calls.push_back(
      PathOf(calls.empty() ? kNoPath : calls.back(), begin.hook_id));
}

void SpanSpool::OnSegment(const SegmentSpan& span) {
  std::vector<std::uint32_t>& calls = open_[span.thread];
  SpooledSpan::Head head = {};
  if (span.begin_inferred) {
    // Its begin was not recorded: it lies inside the open calls.
    head.path = PathOf(calls.empty() ? kNoPath : calls.back(), span.hook_id);
  } else if (span.depth < calls.size()) {
    calls.resize(span.depth + std::size_t{1});
    head.path = calls.back();
    calls.pop_back();
  }
  head.kind = SpooledSpan::Kind::kSegment;
  head.begin_inferred = span.begin_inferred;
  head.end_inferred = span.end_inferred;
  head.on_cpu_known = span.on_cpu_ns.has_value();
  head.on_cpu_exact = span.on_cpu_exact;
  head.thread = span.thread;
  head.begin_ns = span.begin_ns;
  head.end_ns = span.end_ns;
  head.on_cpu_ns = span.on_cpu_ns.value_or(0);
  head.switches = span.switches;
  head.faults = span.faults;
  values_.clear();
  for (std::size_t i = 0; i < span.dumps.size(); ++i) {
    if (span.dumps[i]) head.known |= std::uint64_t{1} << i;
    values_.push_back(span.dumps[i].value_or(0));
  }
  head.values = static_cast<std::uint32_t>(values_.size());
  Write(head);
}

}  // namespace countrace::rmap::babeltrace_plugin
