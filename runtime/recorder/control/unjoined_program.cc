#include "runtime/recorder/control/unjoined_program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>

#include "absl/strings/str_format.h"
#include "base/code/elf_file.h"
#include "base/posix/scoped_fd.h"
#include "runtime/recorder/kernel/hooks/usdt_notes.h"

namespace countrace::runtime {
namespace {

namespace fs = std::filesystem;

struct ProgramTraits {
  bool is_elf = false;
  bool has_hooks = false;        // the section of countrace/hooks.h
  bool has_interpreter = false;  // a dynamic loader
  bool calls_cyg_profile = false;
};

bool ImportsCygProfile(Elf* elf, Elf_Scn* section, const GElf_Shdr& header) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return false;
  const auto symbols = static_cast<int>(header.sh_size / header.sh_entsize);
  for (int i = 0; i < symbols; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, i, &symbol) == nullptr) return false;
    const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name != nullptr && std::strcmp(name, "__cyg_profile_func_enter") == 0) {
      return true;
    }
  }
  return false;
}

ProgramTraits TraitsOf(int fd) {
  ProgramTraits traits;
  const base::ElfHandle elf = base::OpenElf(fd);
  if (elf == nullptr) return traits;
  traits.is_elf = true;
  for (const GElf_Phdr& part : base::PartsOf(elf.get())) {
    traits.has_interpreter |= part.p_type == PT_INTERP;
  }
  for (const auto& [section, header, name] : base::SectionsOf(elf.get())) {
    traits.has_hooks |= std::strcmp(name, "countrace_hooks") == 0;
    if (header.sh_type == SHT_DYNSYM) {
      traits.calls_cyg_profile |= ImportsCygProfile(elf.get(), section, header);
    }
  }
  return traits;
}

// The loader then preloads nothing from other folders (ld.so(8), AT_SECURE).
const char* PrivilegeOf(int fd, const std::string& path) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return nullptr;
  if ((info.st_mode & S_ISUID) != 0) return "set-user-ID";
  if ((info.st_mode & S_ISGID) != 0) return "set-group-ID";
  return getxattr(path.c_str(), "security.capability", nullptr, 0) > 0
             ? "a program with file capabilities"
             : nullptr;
}

// "--hook 'usdt:PATH:a:*' --hook 'usdt:PATH:b:*'", at most two.
std::string HookOptions(const std::string& path,
                        const std::set<std::string>& providers) {
  std::string options;
  std::size_t shown = 0;
  for (const std::string& provider : providers) {
    if (++shown > 2) break;
    options += absl::StrFormat("%s--hook 'usdt:%s:%s:*'",
                               options.empty() ? "" : " ", path, provider);
  }
  return options;
}

}  // namespace

std::string ProgramFileOf(std::int32_t pid, const std::string& command) {
  std::error_code error;
  const fs::path file =
      fs::read_symlink(absl::StrFormat("/proc/%d/exe", pid), error);
  if (!error) return file.string();
  return command.find('/') == std::string::npos ? "" : command;
}

bool HasHooks(const std::string& path) {
  const base::ScopedFd file(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return file.is_open() && TraitsOf(file.get()).has_hooks;
}

std::string WhyNotJoined(const std::string& path, bool preloaded) {
  const base::ScopedFd file(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return "";
  const ProgramTraits traits = TraitsOf(file.get());
  if (!traits.is_elf) return "";
  std::set<std::string> providers;
  if (const auto notes = ReadUsdtNotes(path); notes.ok()) {
    for (const UsdtNote& note : *notes) providers.insert(note.provider);
  }
  const std::string hooks = HookOptions(path, providers);
  if (traits.has_hooks && !traits.has_interpreter) {
    return absl::StrFormat(
        "%s has hooks but is static, so that no library can be preloaded: link "
        "countrace::runtime_static, or record its probes: %s",
        path, hooks);
  }
  if (const char* privilege = PrivilegeOf(file.get(), path);
      traits.has_hooks && privilege != nullptr) {
    return absl::StrFormat(
        "%s has hooks but is %s, so that the loader preloads nothing: link "
        "countrace::runtime, or record its probes: %s",
        path, privilege, hooks);
  }
  if (traits.has_hooks && !preloaded) {
    return absl::StrFormat(
        "%s has hooks but started without the runtime library: link "
        "countrace::runtime, or use `countrace record -- COMMAND`, or record "
        "its probes: %s",
        path, hooks);
  }
  if (traits.has_hooks) {
    return absl::StrFormat(
        "%s has hooks but did not join. Did it get an empty environment? Then "
        "link countrace::runtime. Did it start as another user, or in a "
        "sandbox without the trace's folder (bwrap takes --bind TRACE TRACE)? "
        "Then record its probes: %s",
        path, hooks);
  }
  if (traits.calls_cyg_profile) {
    return absl::StrFormat(
        "%s is built with -finstrument-functions, whose calls are not "
        "recorded: use countrace/hooks.h, or --hook 'uprobe:%s:FUNCTION'",
        path, path);
  }
  if (providers.empty()) return "";
  return absl::StrFormat(
      "%s has no hooks of countrace, but USDT probes (`countrace list probes "
      "%s`): %s records them",
      path, path, hooks);
}

}  // namespace countrace::runtime
