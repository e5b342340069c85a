#include "rmap/values/file_calls.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/system_call_exit.h"
#include "rmap/dispatch/kernel_layout.h"

namespace countrace::rmap {

using logformat::CpuEvent;
using logformat::EventRecord;
using logformat::IntegerOf;

namespace {

constexpr char kNotKnown[] = "(fd ";  // and its number

// asm-generic/fcntl.h, linux/fcntl.h.
constexpr std::int64_t kCloseOnExec = 02000000;
constexpr std::int64_t kDuplicate = 0, kDuplicateCloseOnExec = 1030;

bool IsOneOf(std::string_view name,
             std::initializer_list<std::string_view> names) {
  for (const std::string_view one : names) {
    if (name == one) return true;
  }
  return false;
}

// Descriptors are ints, in arguments of any width.
std::optional<std::int64_t> DescriptorOf(const logformat::FieldValue& value) {
  const auto number = IntegerOf(value);
  if (!number) return std::nullopt;
  return static_cast<std::int32_t>(*number);
}

}  // namespace

FileCalls::Call FileCalls::CallOf(std::string_view name) {
  if (IsOneOf(name, {"open", "openat", "openat2", "creat"})) {
    return {FileUse::kOpen, Change::kOpens};
  }
  if (IsOneOf(name, {"read", "pread64", "readv", "preadv", "preadv2",
                     "recvfrom", "recvmsg"})) {
    return {FileUse::kRead, Change::kNone};
  }
  if (IsOneOf(name, {"write", "pwrite64", "writev", "pwritev", "pwritev2",
                     "sendto", "sendmsg"})) {
    return {FileUse::kWrite, Change::kNone};
  }
  if (IsOneOf(name, {"dup", "dup2", "dup3", "fcntl"})) {
    return {FileUse::kOther, Change::kCopies};
  }
  if (IsOneOf(name, {"close", "close_range"})) {
    return {FileUse::kOther, Change::kCloses};
  }
  return {FileUse::kOther, Change::kNone};
}

// The names of the kernel's format files, and of lttng-modules.
FileCalls::FileCalls(const logformat::TraceInfo& info, ValueTable& values)
    : values_(values),
      path_(info, {"filename", "pathname", "path", "oldname"}),
      file_(info, {"file"}),
      descriptor_(info, {"fd", "fildes", "oldfd", "dfd"}),
      last_(info, {"max_fd"}),
      flags_(info, {"flags"}),
      command_(info, {"cmd"}),
      returned_(info, {"ret"}) {
  for (const logformat::HookInfo& hook : info.hooks) {
    if (!logformat::IsSystemCall(hook) ||
        !(path_.IsOf(hook.id) || file_.IsOf(hook.id) ||
          descriptor_.IsOf(hook.id))) {
      continue;
    }
    const std::size_t index = hook.id - logformat::kHookIdKernelMin;
    if (index >= calls_.size()) calls_.resize(index + 1);
    calls_[index] = CallOf(hook.name);
    any_ = true;
  }
}

FileUse FileCalls::UseOf(std::uint32_t hook_id) const {
  const std::size_t index =
      std::size_t{hook_id} - logformat::kHookIdKernelMin;  // wraps below
  return index < calls_.size() ? calls_[index].use : FileUse::kNone;
}

std::uint32_t FileCalls::FileOf(const EventRecord& record,
                                CallTask task) const {
  const logformat::FieldValue path = path_.Of(record);
  if (const auto* text = std::get_if<std::string_view>(&path)) {
    if (*text == logformat::kUnreadable) return values_.Unread();
    // An empty one means that of the descriptor.
    if (!text->empty()) return values_.Of(*text);
  } else if (!std::holds_alternative<std::monostate>(path)) {
    return ValueTable::kNone;  // its address alone
  }
  const logformat::FieldValue file = file_.Of(record);
  if (const auto* text = std::get_if<std::string_view>(&file)) {
    if (*text == logformat::kUnreadable) return values_.Unread();
    if (!text->empty()) return values_.Of(*text);
  }
  const auto fd = DescriptorOf(descriptor_.Of(record));
  if (!fd) return ValueTable::kNone;
  if (*fd < 0) return values_.Of("(no file)");
  if (const std::uint32_t known = open_.Of(task.pid, *fd)) return known;
  return values_.Of(absl::StrFormat("%s%d)", kNotKnown, *fd));
}

std::uint32_t FileCalls::Enter(const EventRecord& record, std::uint32_t hook_id,
                               CallTask task) {
  const std::uint32_t value = FileOf(record, task);
  switch (calls_[hook_id - logformat::kHookIdKernelMin].change) {
    case Change::kNone:
      break;
    case Change::kOpens: {
      const auto flags = IntegerOf(flags_.Of(record));
      made_[task.tid] = flags && (*flags & kCloseOnExec) == 0;
      break;
    }
    case Change::kCopies: {
      const auto flags = IntegerOf(flags_.Of(record));
      const auto command = IntegerOf(command_.Of(record));
      if (!command) {
        made_[task.tid] = !flags || (*flags & kCloseOnExec) == 0;
      } else if (*command == kDuplicate || *command == kDuplicateCloseOnExec) {
        made_[task.tid] = *command == kDuplicate;
      }
      break;
    }
    case Change::kCloses:
      if (const auto fd = DescriptorOf(descriptor_.Of(record))) {
        // Another thread may open the same one before this call returns.
        const auto last = IntegerOf(last_.Of(record));
        open_.Close(task.pid, *fd, last.value_or(*fd));
      }
  }
  return value;
}

std::uint64_t FileCalls::Exit(const EventRecord& record, std::uint32_t hook_id,
                              CallTask task, std::uint32_t file) {
  if (values_.IsUnread(file)) {
    for (const logformat::NamedValue* name : {&path_, &file_}) {
      const logformat::FieldValue value = name->Of(record);
      const auto* text = std::get_if<std::string_view>(&value);
      if (text == nullptr || text->empty()) continue;
      values_.SetText(file, *text);
      break;
    }
  }
  const Call call = calls_[hook_id - logformat::kHookIdKernelMin];
  const std::int64_t returned = IntegerOf(returned_.Of(record)).value_or(-1);
  if (returned < 0) {
    made_.erase(task.tid);
    return 0;
  }
  if (call.use == FileUse::kRead || call.use == FileUse::kWrite) {
    return static_cast<std::uint64_t>(returned);
  }
  const auto made = made_.find(task.tid);
  if (made == made_.end()) return 0;
  if (call.change == Change::kOpens || call.change == Change::kCopies) {
    open_.Close(task.pid, returned, returned);  // dup2() replaces it
    // A copy of what is not known is not known.
    if (file != ValueTable::kNone &&
        !values_.TextOf(file).starts_with(kNotKnown)) {
      open_.Open(task.pid, returned, file, made->second);
    }
  }
  made_.erase(made);
  return 0;
}

void FileCalls::OnTask(const EventRecord& record) {
  switch (static_cast<CpuEvent>(record.event_id)) {
    case CpuEvent::kFork:
      if (logformat::TaskRecord fork; Decode(record, fork)) {
        open_.Fork(fork.parent_pid, fork.pid);
      }
      return;
    case CpuEvent::kExec:
      if (logformat::CommRecord exec; Decode(record, exec)) {
        open_.Exec(exec.pid);
      }
      return;
    case CpuEvent::kExit:
      if (logformat::TaskRecord exit; Decode(record, exit)) {
        made_.erase(exit.tid);
        if (exit.pid == exit.tid) open_.Exit(exit.pid);
      }
      return;
    default:
      return;
  }
}

}  // namespace countrace::rmap
