#include "runtime/recorder/kernel/hooks/callbacks.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "base/posix/regular_file.h"
#include "runtime/recorder/kernel/hooks/unwound_functions.h"

namespace countrace::runtime {
namespace {

// What is looked through for one function; more code is taken to call back.
constexpr std::uint64_t kMostCode = 256 << 10;

bool IsInside(std::uint64_t offset, const CodeRange& range) {
  return offset >= range.offset && offset - range.offset < range.bytes;
}

class Reach {
 public:
  Reach(int fd, const ObjectFunctions& object) : fd_(fd), object_(object) {}

  // Whether what was added, or what that calls, may be unwound.
  bool MayBeUnwound() {
    while (!waiting_.empty()) {
      const CodeRange range = waiting_.back();
      waiting_.pop_back();
      if (Takes(range)) return true;
    }
    return false;
  }

  void Add(const FunctionSymbol& function) {
    if (!seen_.insert(function.offset).second) return;
    waiting_.push_back({function.offset, function.bytes});
    waiting_.insert(waiting_.end(), function.moved.begin(),
                    function.moved.end());
    own_.insert(own_.end(), function.moved.begin(), function.moved.end());
  }

 private:
  bool Takes(const CodeRange& range) {
    code_ += range.bytes;
    if (range.bytes == 0 || code_ > kMostCode) return true;
    std::vector<std::uint8_t> code(range.bytes);
    if (pread(fd_, code.data(), code.size(),
              static_cast<off_t>(range.offset)) !=
        static_cast<ssize_t>(code.size())) {
      return true;
    }
    const CodeCalls calls = CallsOf({code, range.offset});
    if (!calls.is_known || calls.through_pointer) return true;
    return std::any_of(calls.targets.begin(), calls.targets.end(),
                       [this](std::uint64_t to) { return TakesTarget(to); });
  }

  // A function of this file, or of another. True for those of libraries other
  // than the C library, which are not looked into.
  bool TakesLinked(const LinkedFunction& linked) {
    const std::string& name = linked.name;
    if (linked.of_c_library) {
      // Initialization that runs once is a library's own code.
      return name.find("_once") == std::string::npos &&
             (CallsBack(name) || MayEndThread(name));
    }
    const auto function = std::find_if(
        object_.functions.begin(), object_.functions.end(),
        [&](const FunctionSymbol& each) { return each.symbol == name; });
    if (function == object_.functions.end()) return true;
    Add(*function);
    return false;
  }

  // True if it is not known what is there.
  bool TakesTarget(std::uint64_t to) {
    const auto holds = [to](const CodeRange& range) {
      return IsInside(to, range);
    };
    const Linkage& linkage = object_.linkage;
    if (std::any_of(linkage.ranges.begin(), linkage.ranges.end(), holds)) {
      const auto linked = linkage.functions.find(to);
      return linked == linkage.functions.end() || TakesLinked(linked->second);
    }
    if (std::any_of(own_.begin(), own_.end(), holds)) return false;
    const auto after = std::upper_bound(
        object_.functions.begin(), object_.functions.end(), to,
        [](std::uint64_t offset, const FunctionSymbol& function) {
          return offset < function.offset;
        });
    if (after != object_.functions.begin()) {
      const FunctionSymbol& function = *(after - 1);
      if (IsInside(to, {function.offset, function.bytes})) {
        Add(function);
        return false;
      }
    }
    // A function of a stripped library: all up to the next one with a name.
    if (after == object_.functions.end()) return true;
    if (seen_.insert(to).second) waiting_.push_back({to, after->offset - to});
    return false;
  }

  int fd_;
  const ObjectFunctions& object_;
  std::uint64_t code_ = 0;
  std::set<std::uint64_t> seen_;
  std::vector<CodeRange> waiting_, own_;
};

}  // namespace

bool MayBeUnwound(const std::string& path, const ObjectFunctions& object,
                  const FunctionSymbol& function) {
  if (!object.is_library) return false;
  if (object.is_c_library) {
    return CallsBack(function.symbol) || MayEndThread(function.symbol);
  }
  constexpr std::uint8_t kReturn[] = {0xc3};
  if (!CallsOf({kReturn, 0}).is_known) return false;
  const auto fd = base::OpenRegularFile(path);
  if (!fd.ok()) return true;
  Reach reach(fd->get(), object);
  reach.Add(function);
  return reach.MayBeUnwound();
}

}  // namespace countrace::runtime
