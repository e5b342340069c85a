// More than 400 lines: the forms of --hook, a function for each of them.
#include "runtime/recorder/kernel/hooks/hook_spec.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/posix/errno_status.h"
#include "base/text/glob.h"
#include "logformat/loss.h"
#include "runtime/recorder/kernel/functions/name_lists.h"
#include "runtime/recorder/kernel/hooks/function_exits.h"
#include "runtime/recorder/kernel/hooks/function_symbols.h"
#include "runtime/recorder/kernel/hooks/function_values.h"
#include "runtime/recorder/kernel/hooks/hook_values.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_spec.h"
#include "runtime/recorder/kernel/hooks/probed_instruction.h"
#include "runtime/recorder/kernel/hooks/usdt_notes.h"
#include "runtime/recorder/kernel/hooks/usdt_segments.h"
#include "runtime/recorder/system/tracefs.h"
#include "runtime/recorder/system/tracepoint_format.h"

namespace countrace::runtime {
namespace {

using logformat::HookKind;
using logformat::HookOrigin;
using Place = HookAttachment::Place;

constexpr char kForms[] =
    "write uprobe:FILE:FUNCTION, uprobe-enter:FILE:FUNCTION, "
    "usdt:FILE:PROVIDER:NAME, kernel:MODULE:NAME, "
    "kfunc:FUNCTION, kfunc:MODULE:FUNCTION, kfunc-enter:FUNCTION, "
    "tracepoint:SYSTEM:NAME or tracepoint:SYSTEM:ENTER/EXIT; all but "
    "kernel: with (VALUE,...) behind it to store their arguments";

absl::Status BadSpec(std::string_view spec, const std::string& why) {
  return absl::InvalidArgumentError(
      absl::StrFormat("Not a hook: \"%s\": %s", spec, why));
}

bool Matches(const std::string& glob, const std::string& name) {
  return base::GlobMatches(glob.c_str(), name.c_str());
}

std::string BaseName(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

absl::Status Add(DynamicHook hook, std::string_view spec,
                 KernelHookRequest& request) {
  if (request.dynamic.size() >= kMaxDynamicHooks) {
    return BadSpec(
        spec, absl::StrFormat("with it there are more than %d hooks: use a "
                              "narrower glob",
                              kMaxDynamicHooks));
  }
  request.dynamic.push_back(std::move(hook));
  return absl::OkStatus();
}

const char* WhyPoint(FunctionExits::Way way) {
  switch (way) {
    case FunctionExits::Way::kGo:
      return "Go moves its stacks, and a probe on a return would kill the "
             "program";
    case FunctionExits::Way::kNotCalled:
      return "their return address is not where a call leaves one, or is used "
             "again, and a probe on their return would kill the program";
    case FunctionExits::Way::kSwitches:
      return "the program switches stacks, and a probe on a return would kill "
             "it";
    case FunctionExits::Way::kUnknown:
      return "exceptions or the end of a thread may pass through them, which a "
             "probe on a return would break, and where else their code ends is "
             "not known";
    case FunctionExits::Way::kReturnProbe:
    case FunctionExits::Way::kInstructions:
      break;
  }
  return "";
}

constexpr char kTakenForAJump[] =
    "the kernel would take its first instruction for a jump";

// One note for each reason why functions of a file are points.
void NotePoints(
    const std::string& path, std::string_view spec,
    const std::map<FunctionExits::Way, std::vector<std::string>>& points,
    KernelHookRequest& request) {
  for (const auto& [way, names] : points) {
    if (way == FunctionExits::Way::kGo) {
      request.notes.push_back(absl::StrFormat(
          "%s is a Go program: %s can have points, not segments. %s", path,
          spec, WhyPoint(way)));
      continue;
    }
    request.notes.push_back(
        absl::StrFormat("Only as points, not segments: %s of %s: %s",
                        SomeOf(names), path, WhyPoint(way)));
  }
}

DynamicHook FunctionHook(const std::string& path,
                         const FunctionSymbol& function,
                         const FunctionExits& exits, bool enter_only) {
  const bool is_segment = !enter_only && exits.is_segment();
  DynamicHook hook;
  hook.provider = BaseName(path);
  hook.name = function.name;
  hook.location = absl::StrFormat("%s+0x%x", path, function.offset);
  hook.kind = is_segment ? HookKind::kSegment : HookKind::kPoint;
  HookAttachment at;
  at.file = path;
  at.offset = function.offset;
  at.place = is_segment ? Place::kEnter : Place::kPoint;
  hook.attachments.push_back(at);
  if (!is_segment) return hook;
  at.place = Place::kExit;
  if (exits.way == FunctionExits::Way::kReturnProbe) {
    at.on_return = true;
    hook.attachments.push_back(at);
  }
  for (const std::uint64_t offset : exits.offsets) {
    at.offset = offset;
    hook.attachments.push_back(at);
  }
  return hook;
}

// The values of one hook at its enters or points.
absl::Status StoreFunctionValues(const WantedValues& wanted,
                                 const FunctionValues& known,
                                 const FunctionSymbol& function,
                                 std::vector<std::string>& undescribed,
                                 DynamicHook& hook) {
  const auto parameters = known.ParametersOf(function);
  std::vector<HookValue> has = parameters.value_or(std::vector<HookValue>());
  if (wanted.all && !parameters) undescribed.push_back(function.name);
  if (!wanted.all) {
    const std::vector<HookValue> registers = FunctionValues::Registers();
    has.insert(has.end(), registers.begin(), registers.end());
  }
  HookAttachment& enter = hook.attachments.front();
  return ChooseValues(wanted, has, enter.stored, hook.values);
}

// The list at the end of `pattern`; none if it is part of a function's name.
absl::StatusOr<WantedValues> ValuesOfFunctions(
    const std::vector<FunctionSymbol>& functions, std::string& pattern) {
  const bool is_name = std::any_of(functions.begin(), functions.end(),
                                   [&](const FunctionSymbol& function) {
                                     return Matches(pattern, function.symbol) ||
                                            Matches(pattern, function.name);
                                   });
  if (is_name && !pattern.ends_with("(*)")) return WantedValues();
  return TakeValueList(pattern);
}

// Functions whose arguments are not known: a note, or an error if all are.
absl::Status NoteUndescribed(const std::string& path, std::string_view spec,
                             const std::vector<std::string>& undescribed,
                             std::size_t hooks, KernelHookRequest& request) {
  if (undescribed.empty()) return absl::OkStatus();
  const std::string what =
      absl::StrFormat("no debug information says which arguments %s of %s has",
                      SomeOf(undescribed), path);
  if (undescribed.size() == hooks) {
    return BadSpec(spec, what + ": name registers, such as (size:u64=" +
                             FunctionValues::Registers().front().name + ")");
  }
  request.notes.push_back("Without arguments: " + what);
  return absl::OkStatus();
}

// `names`: those that there are.
absl::Status NoFunction(const std::string& path, std::string_view spec,
                        const std::string& glob,
                        const std::vector<std::string>& names) {
  if (names.empty()) {
    return BadSpec(spec, path +
                             " names no function: it is stripped, and its "
                             "debug file is not installed");
  }
  return BadSpec(
      spec, absl::StrFormat("no function of %s (%d functions) "
                            "matches \"%s\"%s",
                            path, names.size(), glob, NearNames(glob, names)));
}

absl::Status AddUprobes(std::string_view spec, const std::string& file,
                        std::string glob, bool enter_only,
                        KernelHookRequest& request) {
  const auto path = FindObjectFile(file);
  if (!path.ok()) return path.status();
  const auto object = ReadFunctionSymbols(*path);
  if (!object.ok()) return object.status();
  const std::vector<FunctionSymbol>& functions = object->functions;
  const auto wanted = ValuesOfFunctions(functions, glob);
  if (!wanted.ok()) return BadSpec(spec, base::StatusText(wanted.status()));
  std::optional<FunctionValues> values;
  if (wanted->given) values.emplace(*path);
  std::vector<std::string> undescribed;
  std::vector<std::string> names;
  std::map<FunctionExits::Way, std::vector<std::string>> points;
  std::vector<std::string> left_out;
  bool found = false;
  std::size_t hooks = 0;
  std::uint64_t last_offset = 0;
  for (const FunctionSymbol& function : functions) {
    // With a list of values a C++ function's parameters need not be named.
    if (!Matches(glob, function.symbol) && !Matches(glob, function.name) &&
        !(wanted->given && Matches(glob + "(*", function.name))) {
      names.push_back(function.name);
      continue;
    }
    // Aliases of one address are one hook.
    if (found && function.offset == last_offset) continue;
    found = true;
    last_offset = function.offset;
    if (IsTakenForAJump(CodeAt(*path, function.offset))) {
      left_out.push_back(function.name);
      continue;
    }
    ++hooks;
    FunctionExits exits;
    if (!enter_only) {
      exits = ExitsOf(*path, *object, function);
      if (!exits.is_segment()) points[exits.way].push_back(function.name);
    }
    DynamicHook hook = FunctionHook(*path, function, exits, enter_only);
    if (values) {
      const absl::Status stored =
          StoreFunctionValues(*wanted, *values, function, undescribed, hook);
      if (!stored.ok()) {
        return BadSpec(spec, function.name + ": " + base::StatusText(stored));
      }
    }
    const absl::Status added = Add(std::move(hook), spec, request);
    if (!added.ok()) return added;
  }
  const absl::Status described =
      NoteUndescribed(*path, spec, undescribed, hooks, request);
  if (!described.ok()) return described;
  if (found && hooks == 0) {
    return BadSpec(spec,
                   absl::StrFormat("no probe may be on %s of %s: %s",
                                   SomeOf(left_out), *path, kTakenForAJump));
  }
  if (found) {
    NotePoints(*path, spec, points, request);
    if (!left_out.empty()) {
      request.left_out.push_back(logformat::Unavailable(
          absl::StrFormat("Not recorded: %s of %s: %s", SomeOf(left_out), *path,
                          kTakenForAJump),
          left_out.size()));
    }
    return absl::OkStatus();
  }
  return NoFunction(*path, spec, glob, names);
}

// The values at one place of a probe, which may have several. An exit of a
// segment without arguments has none.
absl::Status StoreUsdtValues(const WantedValues& wanted, HookAttachment& at,
                             DynamicHook& hook) {
  const bool exit = at.place == Place::kExit;
  if (exit && at.arguments.empty()) return absl::OkStatus();
  HookValues values;
  const absl::Status chosen =
      ChooseValues(wanted, UsdtValues(at.arguments), at.stored, values);
  if (!chosen.ok()) return chosen;
  HookValues& of = exit ? hook.exit_values : hook.values;
  if (!of.types.empty() && of.names != values.names) {
    return absl::InvalidArgumentError(
        "its places have different arguments: name those that all have");
  }
  if (of.types.empty()) of = std::move(values);
  return absl::OkStatus();
}

absl::Status AddUsdtProbes(std::string_view spec, const std::string& file,
                           const std::string& provider_glob,
                           std::string name_glob, KernelHookRequest& request) {
  const auto wanted = TakeValueList(name_glob);
  if (!wanted.ok()) return BadSpec(spec, base::StatusText(wanted.status()));
  const auto path = FindObjectFile(file);
  if (!path.ok()) return path.status();
  const auto notes = ReadUsdtNotes(*path);
  if (!notes.ok()) return notes.status();
  std::map<std::pair<std::string, std::string>, DynamicHook> hooks;
  std::vector<std::string> names;
  const UsdtSegments segments(*notes);
  for (const UsdtNote& note : *notes) {
    const UsdtSegments::Part part = segments.PartOf(note);
    const Place place = part.place;
    const std::string stem(part.stem);
    if (!Matches(provider_glob, note.provider) ||
        (!Matches(name_glob, stem) && !Matches(name_glob, note.name))) {
      names.push_back(note.provider + ":" + stem);
      continue;
    }
    DynamicHook& hook = hooks[{note.provider, stem}];
    hook.type = DynamicHook::Type::kUsdtProbe;
    hook.provider = note.provider;
    hook.name = stem;
    if (hook.location.empty()) {
      hook.location = absl::StrFormat("%s+0x%x", *path, note.offset);
    }
    if (place != Place::kPoint) hook.kind = HookKind::kSegment;
    HookAttachment at;
    at.file = *path;
    at.offset = note.offset;
    at.semaphore_offset = note.semaphore_offset;
    at.place = place;
    at.arguments = note.arguments;
    if (wanted->given) {
      const absl::Status stored = StoreUsdtValues(*wanted, at, hook);
      if (!stored.ok()) {
        return BadSpec(spec, note.name + ": " + base::StatusText(stored));
      }
    }
    hook.attachments.push_back(at);
  }
  if (hooks.empty()) {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return BadSpec(spec,
                   names.empty()
                       ? *path + " has no USDT probes"
                       : absl::StrFormat("no USDT probe of %s matches%s", *path,
                                         NearNames(name_glob, names)));
  }
  for (auto& [name, hook] : hooks) {
    const absl::Status added = Add(std::move(hook), spec, request);
    if (!added.ok()) return added;
  }
  return absl::OkStatus();
}

// Offsets of the device, sector and length of a request to a block device;
// absent: the tracepoint is none, or this kernel has other fields.
std::optional<std::array<std::uint32_t, 3>> BlockFields(
    const std::string& system, const std::string& name,
    const std::string& format) {
  if (system != "block" ||
      (name != "block_rq_issue" && name != "block_rq_complete")) {
    return std::nullopt;
  }
  const auto fields = ParseTracepointFormat(format);
  if (!fields.ok()) return std::nullopt;
  struct Wanted {
    std::string_view name;
    std::uint32_t size;
  };
  constexpr Wanted kWanted[] = {{"dev", 4}, {"sector", 8}, {"nr_sector", 4}};
  std::array<std::uint32_t, 3> offsets{};
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const auto found = std::find_if(
        fields->begin(), fields->end(), [&](const TracepointField& field) {
          return field.name == kWanted[i].name && field.size == kWanted[i].size;
        });
    if (found == fields->end()) return std::nullopt;
    offsets[i] = found->offset;
  }
  return offsets;
}

// The values of a tracepoint, or of a segment's two: each of a list is the
// enter's if it has it.
absl::Status StoreTracepointValues(const WantedValues& wanted,
                                   DynamicHook& hook) {
  const auto values_of = [&](const HookAttachment& at) {
    return TracepointValues(hook.provider, at.arguments);
  };
  HookAttachment& enter = hook.attachments.front();
  const std::vector<HookValue> has = values_of(enter);
  WantedValues rest = wanted;
  if (hook.attachments.size() == 1) {
    return ChooseValues(wanted, has, enter.stored, hook.values);
  }
  WantedValues first = wanted;
  std::erase_if(first.values, [&](const WantedValue& value) {
    return FindValue(has, value) == nullptr;
  });
  std::erase_if(rest.values, [&](const WantedValue& value) {
    return FindValue(has, value) != nullptr;
  });
  const absl::Status chosen =
      ChooseValues(first, has, enter.stored, hook.values);
  if (!chosen.ok()) return chosen;
  HookAttachment& exit = hook.attachments.back();
  return ChooseValues(rest, values_of(exit), exit.stored, hook.exit_values);
}

absl::Status AddTracepoint(std::string_view spec, const std::string& system,
                           std::string name, KernelHookRequest& request) {
  const auto wanted = TakeValueList(name);
  if (!wanted.ok()) return BadSpec(spec, base::StatusText(wanted.status()));
  const auto tracefs = Tracefs::Open();
  if (!tracefs.ok()) return tracefs.status();
  const std::vector<std::string> events = absl::StrSplit(name, '/');
  if (events.size() > 2) return BadSpec(spec, kForms);
  DynamicHook hook;
  hook.type = DynamicHook::Type::kTracepoint;
  hook.provider = system;
  hook.name = name;
  hook.location = "tracepoint";
  hook.origin = HookOrigin::kKernel;
  hook.kind = events.size() == 2 ? HookKind::kSegment : HookKind::kPoint;
  for (const std::string& event : events) {
    const auto id = tracefs->TracepointId(system, event);
    if (absl::IsNotFound(id.status())) {
      return BadSpec(spec, absl::StrFormat("this kernel has no tracepoint "
                                           "%s:%s; `countrace list "
                                           "tracepoints` shows them",
                                           system, event));
    }
    if (!id.ok()) return id.status();
    HookAttachment at;
    at.tracepoint = *id;
    const auto format =
        tracefs->Read(absl::StrFormat("events/%s/%s/format", system, event));
    if (format.ok()) {
      at.arguments = *format;
      // Values of a list take the place of a block point's.
      if (!wanted->given) {
        hook.block_fields = BlockFields(system, name, *format);
      }
    }
    at.place = events.size() == 1         ? Place::kPoint
               : hook.attachments.empty() ? Place::kEnter
                                          : Place::kExit;
    hook.attachments.push_back(at);
  }
  if (wanted->given) {
    const absl::Status stored = StoreTracepointValues(*wanted, hook);
    if (!stored.ok()) return BadSpec(spec, base::StatusText(stored));
    for (HookAttachment& at : hook.attachments) SetWindow(at.stored);
  }
  // The BPF program has one set of offsets.
  for (const DynamicHook& other : request.dynamic) {
    if (other.block_fields && other.block_fields != hook.block_fields) {
      hook.block_fields.reset();
    }
  }
  return Add(std::move(hook), spec, request);
}

absl::Status AddAll(absl::StatusOr<std::vector<DynamicHook>> hooks,
                    std::string_view spec, KernelHookRequest& request) {
  if (absl::IsInvalidArgument(hooks.status())) {
    return BadSpec(spec, base::StatusText(hooks.status()));
  }
  if (!hooks.ok()) return hooks.status();
  for (DynamicHook& hook : *hooks) {
    const absl::Status added = Add(std::move(hook), spec, request);
    if (!added.ok()) return added;
  }
  return absl::OkStatus();
}

absl::Status AddForm(std::string_view spec, KernelHookRequest& request) {
  // A C++ function's name may hold colons itself.
  const std::vector<std::string> parts =
      absl::StrSplit(std::string(spec), absl::MaxSplits(':', 2));
  for (const std::string& part : parts) {
    if (part.empty()) return BadSpec(spec, kForms);
  }
  if (parts.size() > 1 && (parts[0] == "kfunc" || parts[0] == "kfunc-enter")) {
    return AddAll(KernelFunctionHooks(spec, request.left_out), spec, request);
  }
  if (parts.size() != 3) return BadSpec(spec, kForms);
  if (parts[0] == "uprobe" || parts[0] == "uprobe-enter") {
    return AddUprobes(spec, parts[1], parts[2], parts[0] == "uprobe-enter",
                      request);
  }
  if (parts[0] == "tracepoint") {
    return AddTracepoint(spec, parts[1], parts[2], request);
  }
  if (parts[0] == "kernel") {
    return AddAll(ModuleHooks(parts[1], parts[2]), spec, request);
  }
  if (parts[0] == "usdt") {
    const std::vector<std::string> probe =
        absl::StrSplit(parts[2], absl::MaxSplits(':', 1));
    if (probe.size() == 2 && !probe[0].empty() && !probe[1].empty()) {
      return AddUsdtProbes(spec, parts[1], probe[0], probe[1], request);
    }
  }
  return BadSpec(spec, kForms);
}

}  // namespace

absl::StatusOr<std::string> FindObjectFile(const std::string& file) {
  if (file.find('/') != std::string::npos) {
    if (access(file.c_str(), R_OK) == 0) return file;
    return absl::NotFoundError(absl::StrFormat("Cannot read %s for a hook: %s",
                                               file, std::strerror(errno)));
  }
  const char* path = std::getenv("PATH");
  std::vector<std::string> folders =
      absl::StrSplit(path != nullptr ? path : "/usr/bin:/bin", ':');
  for (const char* folder :
       {"/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/lib", "/lib64",
        "/usr/lib64", "/lib", "/usr/lib", "/lib/x86_64-linux-gnu",
        "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu", "/lib/powerpc64le-linux-gnu",
        "/usr/lib/powerpc64le-linux-gnu"}) {
    folders.emplace_back(folder);
  }
  for (const std::string& folder : folders) {
    const std::string candidate = folder + "/" + file;
    if (!folder.empty() && access(candidate.c_str(), R_OK) == 0) {
      return candidate;
    }
  }
  return absl::NotFoundError(absl::StrFormat(
      "There is no program or library \"%s\" in PATH or the library folders: "
      "give its path, for example ./%s",
      file, file));
}

absl::Status AddDynamicHooks(std::string_view spec,
                             KernelHookRequest& request) {
  const std::size_t before = request.dynamic.size();
  const absl::Status added = AddForm(spec, request);
  if (!added.ok() || geteuid() == 0) return added;
  const auto first =
      request.dynamic.begin() + static_cast<std::ptrdiff_t>(before);
  if (std::none_of(first, request.dynamic.end(), StoresValues)) return added;
  request.dynamic.erase(first, request.dynamic.end());
  return absl::PermissionDeniedError(
      "arguments may be other users' data: only root stores them");
}

bool StoresValues(const DynamicHook& hook) {
  return !hook.values.types.empty() || !hook.exit_values.types.empty();
}

const std::vector<std::string>& KernelSegmentWords() {
  static const std::vector<std::string> words = {"syscalls", "irq", "softirq",
                                                 "faults", "block"};
  return words;
}

absl::Status AddKernelSegments(std::string_view word,
                               KernelHookRequest& request) {
  if (word == "syscalls") {
    request.syscalls = true;
  } else if (word == "irq") {
    request.irqs = true;
  } else if (word == "softirq") {
    request.softirqs = true;
  } else if (word == "faults") {
    request.faults = true;
  } else if (word == "block") {
    for (const char* event : {"block_rq_issue", "block_rq_complete"}) {
      const absl::Status added = AddTracepoint(word, "block", event, request);
      if (!added.ok()) return added;
    }
  } else {
    return absl::InvalidArgumentError(
        absl::StrFormat("No kernel segments \"%s\": there are %s", word,
                        absl::StrJoin(KernelSegmentWords(), ", ")));
  }
  return absl::OkStatus();
}

}  // namespace countrace::runtime
