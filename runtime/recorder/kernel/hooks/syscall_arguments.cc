#include "runtime/recorder/kernel/hooks/syscall_arguments.h"

#include <algorithm>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/text/trim.h"
#include "runtime/recorder/system/syscall_names.h"
#include "runtime/recorder/system/tracefs.h"

namespace countrace::runtime {
namespace {

using logformat::HookInfo;
using logformat::PayloadType;

// --- The table ---------------------------------------------------------------

// Names of tracepoints that are not those of the calls.
struct KernelName {
  std::string_view call, kernel;
};
constexpr KernelName kKernelNames[] = {
    {"stat", "newstat"},   {"lstat", "newlstat"},      {"fstat", "newfstat"},
    {"uname", "newuname"}, {"sendfile", "sendfile64"}, {"umount2", "umount"}};

// A `const char *` is a text and a `char *` is memory that the call writes to,
// but for these.
struct CallArgument {
  std::string_view call, argument;
};
constexpr CallArgument kNoTexts[] = {
    {"write", "buf"}, {"pwrite64", "buf"}, {"mq_timedsend", "u_msg_ptr"}};
constexpr CallArgument kTexts[] = {
    {"mount", "dev_name"}, {"mount", "dir_name"}, {"mount", "type"},
    {"umount2", "name"},   {"utime", "filename"}, {"utimes", "filename"}};

// Integers with these names are descriptors, the first ones those that names
// are relative to; but the `fd` of close_range is a limit.
constexpr std::string_view kFolders[] = {"dfd", "olddfd", "newdfd", "from_dfd",
                                         "to_dfd"};
constexpr std::string_view kDescriptors[] = {
    "fd",    "oldfd",  "fildes",      "epfd",       "fd_in",      "fd_out",
    "in_fd", "out_fd", "ufd",         "mqdes",      "fs_fd",      "group_fd",
    "pidfd", "fdin",   "fanotify_fd", "mountdirfd", "ruleset_fd", "fdout"};
constexpr std::string_view kNoDescriptors[] = {"close_range"};

constexpr std::string_view kReturnDescriptors[] = {
    "accept",         "accept4",
    "creat",          "dup",
    "dup2",           "dup3",
    "epoll_create",   "epoll_create1",
    "eventfd",        "eventfd2",
    "fanotify_init",  "fsmount",
    "fsopen",         "fspick",
    "inotify_init",   "inotify_init1",
    "io_uring_setup", "memfd_create",
    "memfd_secret",   "mq_open",
    "open",           "open_by_handle_at",
    "open_tree",      "openat",
    "openat2",        "perf_event_open",
    "pidfd_getfd",    "pidfd_open",
    "signalfd",       "signalfd4",
    "socket",         "timerfd_create",
    "userfaultfd"};
constexpr std::string_view kRename[] = {"rename",     "renameat", "renameat2",
                                        "mount",      "umount2",  "move_mount",
                                        "pivot_root", "rmdir"};
constexpr std::string_view kGivesAddress[] = {
    "accept", "accept4", "getpeername", "getsockname", "recvfrom"};
constexpr std::string_view kExecute[] = {"execve", "execveat"};

// C types of integers that are not 8 bytes long, or have a sign.
struct IntegerType {
  std::string_view name;
  std::uint8_t bytes;
  bool is_signed;
};
constexpr IntegerType kIntegers[] = {
    {"int", 4, true},       {"pid_t", 4, true},
    {"key_t", 4, true},     {"mqd_t", 4, true},
    {"timer_t", 4, true},   {"key_serial_t", 4, true},
    {"rwf_t", 4, true},     {"clockid_t", 4, true},
    {"__s32", 4, true},     {"unsigned int", 4, false},
    {"unsigned", 4, false}, {"u32", 4, false},
    {"__u32", 4, false},    {"uid_t", 4, false},
    {"gid_t", 4, false},    {"qid_t", 4, false},
    {"umode_t", 2, false},  {"long", 8, true},
    {"loff_t", 8, true},    {"off_t", 8, true}};

// --- Its use -----------------------------------------------------------------

template <std::size_t N>
bool IsIn(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

template <std::size_t N>
bool IsIn(const CallArgument (&table)[N], std::string_view call,
          std::string_view argument) {
  return std::any_of(std::begin(table), std::end(table), [&](const auto& at) {
    return at.call == call && at.argument == argument;
  });
}

// One line of a format file, "field:const char * filename;\toffset:24;...".
void AddArgument(std::string_view call, std::string_view declaration,
                 SyscallArguments& all) {
  if (all.layout.count == COUNTRACE_CALL_ARGUMENTS) return;
  const std::size_t end = declaration.find_last_of(" *");
  if (end == std::string_view::npos) return;
  SyscallArgument argument;
  std::string_view name = declaration.substr(end + 1);
  std::string_view type = base::Trim(declaration.substr(0, end + 1));
  while (name.starts_with('_')) name.remove_prefix(1);
  argument.name = name;
  countrace_call_value kind = COUNTRACE_CALL_NUMBER;
  if (type.ends_with('*')) {
    argument.type = PayloadType::kPointer;
    if (type == "const char *" ? !IsIn(kNoTexts, call, name)
                               : IsIn(kTexts, call, name)) {
      argument.type = PayloadType::kString;
      kind = COUNTRACE_CALL_TEXT;
    } else if (type == "struct sockaddr *") {
      argument.type = PayloadType::kString;
      kind = IsIn(kGivesAddress, call) ? COUNTRACE_CALL_GIVEN_ADDRESS
                                       : COUNTRACE_CALL_ADDRESS;
    } else if (name == "argv" && IsIn(kExecute, call)) {
      argument.type = PayloadType::kString;
      kind = COUNTRACE_CALL_ARGV;
    }
  } else {
    if (type.starts_with("const ")) type.remove_prefix(6);
    for (const IntegerType& integer : kIntegers) {
      if (integer.name != type) continue;
      argument.bytes = integer.bytes;
      if (integer.is_signed) argument.type = PayloadType::kInt;
    }
    if ((IsIn(kFolders, name) || IsIn(kDescriptors, name)) &&
        !IsIn(kNoDescriptors, call)) {
      argument.type = PayloadType::kInt;
      argument.bytes = 4;
      kind = COUNTRACE_CALL_FD;
    }
  }
  all.layout.kinds[all.layout.count++] = static_cast<unsigned char>(kind);
  all.arguments.push_back(std::move(argument));
}

// `name`, or `name_2` if there is one with that name.
void AddValue(std::string name, PayloadType type,
              std::vector<PayloadType>& types,
              std::vector<std::string>& names) {
  std::string other = name;
  for (int i = 2; std::find(names.begin(), names.end(), other) != names.end();
       ++i) {
    other = absl::StrFormat("%s_%d", name, i);
  }
  types.push_back(type);
  names.push_back(std::move(other));
}

}  // namespace

void SyscallArguments::Describe(HookInfo& hook) const {
  if ((layout.results & COUNTRACE_RETURNS_FD) != 0) {
    AddValue("file", PayloadType::kString, hook.exit_payload,
             hook.exit_payload_names);
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& [name, type, bytes] = arguments[i];
    if (layout.kinds[i] < COUNTRACE_CALL_GIVEN_ADDRESS) {
      AddValue(name, type, hook.payload, hook.payload_names);
    }
    if (layout.kinds[i] == COUNTRACE_CALL_FD) {
      AddValue(IsIn(kFolders, name) ? "dir" : "file", PayloadType::kString,
               hook.payload, hook.payload_names);
    }
    if (type == PayloadType::kString) {
      AddValue(name, type, hook.exit_payload, hook.exit_payload_names);
    }
  }
  // The exit's file is another one than the enter's.
  const auto& enter = hook.payload_names;
  if (!hook.exit_payload_names.empty() &&
      std::find(enter.begin(), enter.end(), hook.exit_payload_names[0]) !=
          enter.end() &&
      hook.exit_payload_names[0] == "file") {
    hook.exit_payload_names[0] = "new_file";
  }
}

SyscallArguments ParseSyscallFormat(std::string_view name,
                                    std::string_view format) {
  SyscallArguments all;
  constexpr std::string_view kKey = "field:";
  for (std::size_t at = 0;
       (at = format.find(kKey, at)) != std::string_view::npos;) {
    at += kKey.size();
    const std::string_view declaration =
        format.substr(at, format.find(';', at) - at);
    if (declaration.find(" common_") != std::string_view::npos ||
        declaration.ends_with("__syscall_nr")) {
      continue;
    }
    AddArgument(name, declaration, all);
  }
  countrace_call_layout& layout = all.layout;
  if (IsIn(kReturnDescriptors, name)) layout.results |= COUNTRACE_RETURNS_FD;
  const bool executes = IsIn(kExecute, name);
  if (layout.results != 0 || executes || IsIn(kGivesAddress, name)) {
    layout.results |= COUNTRACE_EXIT_VALUES;
  }
  if (std::any_of(all.arguments.begin(), all.arguments.end(),
                  [](const SyscallArgument& argument) {
                    return argument.type == PayloadType::kString;
                  })) {
    layout.results |= COUNTRACE_EXIT_TEXTS;
  }
  if (IsIn(kRename, name)) layout.results |= COUNTRACE_RENAMES;
  if (executes) layout.results |= COUNTRACE_EXECUTES;
  return all;
}

absl::StatusOr<std::vector<SyscallArguments>> ReadSyscallArguments() {
  const auto tracefs = Tracefs::Open();
  if (!tracefs.ok()) return tracefs.status();
  std::vector<SyscallArguments> calls(COUNTRACE_CALLS);
  bool any = false;
  for (std::uint32_t number = 0; number < COUNTRACE_CALLS; ++number) {
    const std::string name = SyscallName(number, /*compat=*/false);
    std::string_view kernel = name;
    for (const KernelName& other : kKernelNames) {
      if (other.call == name) kernel = other.kernel;
    }
    const auto format = tracefs->Read(
        absl::StrFormat("events/syscalls/sys_enter_%s/format", kernel));
    if (!format.ok()) continue;
    any = true;
    calls[number] = ParseSyscallFormat(name, *format);
  }
  if (any) return calls;
  return absl::NotFoundError(
      "The kernel does not describe its system calls: events/syscalls is "
      "missing in tracefs (CONFIG_FTRACE_SYSCALLS)");
}

}  // namespace countrace::runtime
