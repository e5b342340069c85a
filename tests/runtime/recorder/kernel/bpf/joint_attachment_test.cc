// The kernel attaches all places of a call or none. Whatever it refuses, the
// other hooks are attached, whole and once.
#include "runtime/recorder/kernel/bpf/load/joint_attachment.h"

#include <fcntl.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "tests/support/property_runs.h"

namespace countrace::runtime {
namespace {

using test_support::PropertyRuns;
// File, offset, on_return.
using Place = std::tuple<std::string, std::uint64_t, bool>;

// A kernel that refuses some places.
class Kernel {
 public:
  std::set<Place> refused;
  int error = EINVAL;
  std::size_t tries = 0;

  base::ScopedFd Attach(const std::string& file, const UprobePlaces& places,
                        bool on_return) {
    ++tries;
    CHECK(places.offsets.size() == places.cookies.size());
    CHECK(places.offsets.size() == places.semaphore_offsets.size());
    for (const std::uint64_t offset : places.offsets) {
      if (refused.count({file, offset, on_return}) != 0) {
        errno = error;
        return base::ScopedFd();
      }
    }
    base::ScopedFd link(open("/dev/null", O_RDONLY | O_CLOEXEC));
    links_[link.get()].clear();  // the number of a closed one
    for (std::size_t i = 0; i < places.offsets.size(); ++i) {
      links_[link.get()].push_back(
          {{file, places.offsets[i], on_return}, places.cookies[i]});
    }
    return link;
  }

  // Cookies of each place over the links that are still open.
  std::map<Place, std::vector<std::uint64_t>> Attached(
      const std::vector<base::ScopedFd>& links) const {
    std::map<Place, std::vector<std::uint64_t>> attached;
    for (const base::ScopedFd& link : links) {
      for (const auto& [place, cookie] : links_.at(link.get())) {
        attached[place].push_back(cookie);
      }
    }
    return attached;
  }

  AttachPlaces AsFunction() {
    return [this](const std::string& file, const UprobePlaces& places,
                  bool on_return) { return Attach(file, places, on_return); };
  }

 private:
  std::map<int, std::vector<std::pair<Place, std::uint64_t>>> links_;
};

DynamicHook Function(const std::string& file, std::uint64_t offset,
                     bool returns) {
  DynamicHook hook;
  hook.provider = file;
  hook.name = std::to_string(offset);
  HookAttachment at;
  at.file = file;
  at.offset = offset;
  at.place =
      returns ? HookAttachment::Place::kEnter : HookAttachment::Place::kPoint;
  hook.attachments.push_back(at);
  if (returns) {
    at.place = HookAttachment::Place::kExit;
    at.on_return = true;
    hook.attachments.push_back(at);
  }
  return hook;
}

TEST_CASE("property: joint probes: what is not refused is attached, once",
          "[kernel_hooks]") {
  const auto seeds = PropertyRuns(std::uint32_t{500});
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    KernelHookRequest request;
    Kernel kernel;
    const std::size_t hooks = random() % 60;
    const std::uint64_t odds = 2 + random() % 40;
    std::size_t bad = 0;
    std::vector<bool> expected;
    for (std::size_t i = 0; i < hooks; ++i) {
      const std::string file = random() % 3 == 0 ? "b" : "a";
      DynamicHook hook = Function(file, 16 * i, random() % 2 == 0);
      bool joint = true;
      if (random() % 20 == 0) {  // places in two files
        hook.attachments.push_back(hook.attachments.front());
        hook.attachments.back().file = "c";
        joint = false;
      } else if (random() % 20 == 0) {  // a tracepoint
        hook.attachments = {HookAttachment{}};
        joint = false;
      } else if (random() % odds == 0) {
        const HookAttachment& at =
            hook.attachments[random() % hook.attachments.size()];
        kernel.refused.insert({at.file, at.offset, at.on_return});
        joint = false;
        ++bad;
      }
      expected.push_back(joint);
      request.dynamic.push_back(std::move(hook));
    }
    std::vector<std::pair<std::size_t, std::size_t>> progress;
    request.attaching = [&progress](std::size_t done, std::size_t all) {
      progress.emplace_back(done, all);
    };
    const KernelHookRules rules;
    std::vector<base::ScopedFd> links;
    const std::vector<bool> attached =
        AttachJointly(request, rules, kernel.AsFunction(), links);
    CHECK(attached == expected);
    std::map<Place, std::vector<std::uint64_t>> places;
    for (std::size_t hook = 0; hook < hooks; ++hook) {
      if (!expected[hook]) continue;
      const auto& attachments = request.dynamic[hook].attachments;
      for (std::size_t i = 0; i < attachments.size(); ++i) {
        places[{attachments[i].file, attachments[i].offset,
                attachments[i].on_return}]
            .push_back(CookieOf(request, rules, hook, i));
      }
    }
    CHECK(kernel.Attached(links) == places);
    const auto all = static_cast<std::size_t>(
        std::count(expected.begin(), expected.end(), true));
    CHECK((progress.empty() ? 0 : progress.back().first) == all);
    CHECK(std::is_sorted(progress.begin(), progress.end()));
    // Enters and returns of two files, and of both halves around each refused
    // one: log2(60) < 6.
    CHECK(kernel.tries <= 4 + 4 * 6 * bad);
  }
}

TEST_CASE("joint probes: without the privilege it is tried once a file",
          "[kernel_hooks]") {
  KernelHookRequest request;
  Kernel kernel;
  kernel.error = EPERM;
  for (std::uint64_t i = 0; i < 64; ++i) {
    request.dynamic.push_back(Function("a", 16 * i, true));
    kernel.refused.insert({"a", 16 * i, false});
  }
  std::vector<base::ScopedFd> links;
  const auto attached =
      AttachJointly(request, KernelHookRules{}, kernel.AsFunction(), links);
  CHECK(attached == std::vector<bool>(64));
  CHECK(links.empty());
  CHECK(kernel.tries == 1);
}

}  // namespace
}  // namespace countrace::runtime
