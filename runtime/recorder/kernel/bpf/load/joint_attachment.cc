#include "runtime/recorder/kernel/bpf/load/joint_attachment.h"

#include <cerrno>
#include <map>
#include <span>
#include <utility>

#include "runtime/recorder/kernel/hooks/kernel_ring.h"

namespace countrace::runtime {
namespace {

class JointAttacher {
 public:
  JointAttacher(const KernelHookRequest& request, const KernelHookRules& rules,
                const AttachPlaces& attach, std::vector<base::ScopedFd>& links)
      : request_(request), rules_(rules), attach_(attach), links_(links) {}

  std::vector<bool> Attach() {
    std::map<std::string, std::vector<std::size_t>> of_file;
    for (std::size_t i = 0; i < request_.dynamic.size(); ++i) {
      const std::string* const file = FileOf(request_.dynamic[i]);
      if (file != nullptr) of_file[*file].push_back(i);
    }
    for (const auto& [file, hooks] : of_file) AttachAll(file, hooks);
    return std::move(attached_);
  }

 private:
  // Null: a tracepoint, or places in several files.
  static const std::string* FileOf(const DynamicHook& hook) {
    const std::string* file = nullptr;
    for (const HookAttachment& at : hook.attachments) {
      if (at.file.empty() || (file != nullptr && *file != at.file)) {
        return nullptr;
      }
      file = &at.file;
    }
    return file;
  }

  // The kernel attaches all or none: halves the hooks until those that cannot
  // be attached are alone.
  void AttachAll(const std::string& file, std::span<const std::size_t> hooks) {
    UprobePlaces places[2];  // of entries, of returns
    for (const std::size_t hook : hooks) {
      const auto& attachments = request_.dynamic[hook].attachments;
      for (std::size_t i = 0; i < attachments.size(); ++i) {
        UprobePlaces& of = places[attachments[i].on_return ? 1 : 0];
        of.offsets.push_back(attachments[i].offset);
        of.semaphore_offsets.push_back(attachments[i].semaphore_offset);
        of.cookies.push_back(CookieOf(request_, rules_, hook, i));
      }
    }
    std::vector<base::ScopedFd> links;
    for (const bool on_return : {false, true}) {
      const UprobePlaces& of = places[on_return ? 1 : 0];
      if (of.offsets.empty()) continue;
      links.push_back(attach_(file, of, on_return));
      if (links.back().is_open()) continue;
      const bool denied = errno == EPERM || errno == EACCES;
      links.clear();  // an enter without its exit would be worse than neither
      if (denied || hooks.size() == 1) return;
      const std::size_t half = hooks.size() / 2;
      AttachAll(file, hooks.first(half));
      return AttachAll(file, hooks.subspan(half));
    }
    for (base::ScopedFd& link : links) links_.push_back(std::move(link));
    for (const std::size_t hook : hooks) attached_[hook] = true;
    done_ += hooks.size();
    if (request_.attaching) request_.attaching(done_, request_.dynamic.size());
  }

  const KernelHookRequest& request_;
  const KernelHookRules& rules_;
  const AttachPlaces& attach_;
  std::vector<base::ScopedFd>& links_;
  std::vector<bool> attached_ = std::vector<bool>(request_.dynamic.size());
  std::size_t done_ = 0;
};

}  // namespace

std::uint64_t CookieOf(const KernelHookRequest& request,
                       const KernelHookRules& rules, std::size_t hook,
                       std::size_t attachment) {
  const DynamicHook& named = request.dynamic[hook];
  const HookAttachment& at = named.attachments[attachment];
  std::uint64_t cookie =
      hook * 4 + (named.block_fields ? std::uint64_t{COUNTRACE_PLACE_BLOCK}
                                     : static_cast<std::uint64_t>(at.place));
  const auto sources = rules.sources_of.find(hook);
  if (sources != rules.sources_of.end()) {
    cookie |= static_cast<std::uint64_t>(sources->second[attachment]) << 32;
  }
  if (!at.function.empty() && at.place == HookAttachment::Place::kExit) {
    cookie |= std::uint64_t{at.ret_bits} << COUNTRACE_COOKIE_RET_SHIFT;
    if (at.ret_is_signed) cookie |= COUNTRACE_COOKIE_RET_SIGNED;
  }
  return cookie;
}

std::vector<bool> AttachJointly(const KernelHookRequest& request,
                                const KernelHookRules& rules,
                                const AttachPlaces& attach,
                                std::vector<base::ScopedFd>& links) {
  return JointAttacher(request, rules, attach, links).Attach();
}

}  // namespace countrace::runtime
