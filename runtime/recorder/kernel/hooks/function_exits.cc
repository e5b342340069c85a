#include "runtime/recorder/kernel/hooks/function_exits.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/posix/regular_file.h"
#include "runtime/recorder/kernel/hooks/callbacks.h"

namespace countrace::runtime {
namespace {

using Way = FunctionExits::Way;

constexpr std::uint64_t kLargestFunction = 1 << 20;

// Functions whose return address is used again after they have returned: they
// return twice, or on another stack.
constexpr std::string_view kReturnsAgain[] = {
    "setjmp",      "_setjmp",       "__setjmp",      "sigsetjmp",
    "__sigsetjmp", "getcontext",    "__getcontext",  "swapcontext",
    "savectx",     "__swapcontext", "jump_fcontext", "ontop_fcontext"};
// Code that no call enters, so that another word is on top of the stack.
constexpr std::string_view kNotCalled[] = {
    "_start", "_dl_start_user", "__restore_rt", "__restore", "__start_context"};
constexpr std::string_view kNotCalledBeginWith[] = {"_dl_runtime_",
                                                    "__morestack"};

bool IsAmong(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool MayHaveReturnProbe(const FunctionSymbol& function) {
  const std::string_view symbol = function.symbol;
  const std::string_view name = symbol.substr(0, symbol.find('@'));
  return !IsAmong(name, kReturnsAgain) && !IsAmong(name, kNotCalled) &&
         std::none_of(
             std::begin(kNotCalledBeginWith), std::end(kNotCalledBeginWith),
             [&](std::string_view begin) { return name.starts_with(begin); });
}

std::optional<std::vector<std::uint64_t>> LeavingInstructionsIn(
    const std::string& path, const FunctionSymbol& function) {
  std::vector<CodeRange> ranges = {{function.offset, function.bytes}};
  ranges.insert(ranges.end(), function.moved.begin(), function.moved.end());
  const auto fd = base::OpenRegularFile(path);
  if (!fd.ok()) return std::nullopt;
  std::vector<std::vector<std::uint8_t>> codes;
  std::vector<FunctionPart> parts;
  for (const CodeRange& range : ranges) {
    if (range.bytes == 0 || range.bytes > kLargestFunction) return std::nullopt;
    std::vector<std::uint8_t> code(range.bytes);
    if (pread(fd->get(), code.data(), code.size(),
              static_cast<off_t>(range.offset)) !=
        static_cast<ssize_t>(code.size())) {
      return std::nullopt;
    }
    codes.push_back(std::move(code));
  }
  for (std::size_t i = 0; i < codes.size(); ++i) {
    parts.push_back({codes[i], ranges[i].offset});
  }
  return LeavingInstructions(parts);
}

}  // namespace

FunctionExits ExitsOf(const std::string& path, const ObjectFunctions& object,
                      const FunctionSymbol& function) {
  if (object.is_go) return {Way::kGo, {}};
  const bool is_begin =
      object.entry_offset != 0 && function.offset == object.entry_offset;
  if (is_begin || !MayHaveReturnProbe(function)) return {Way::kNotCalled, {}};
  if (object.switches_stacks) return {Way::kSwitches, {}};
  if (!object.unwinds && !MayBeUnwound(path, object, function)) {
    return {Way::kReturnProbe, {}};
  }
  auto offsets = LeavingInstructionsIn(path, function);
  // Two probes on one instruction have no order.
  if (!offsets || std::find(offsets->begin(), offsets->end(),
                            function.offset) != offsets->end()) {
    return {Way::kUnknown, {}};
  }
  return {Way::kInstructions, *std::move(offsets)};
}

}  // namespace countrace::runtime
