#include "runtime/recorder/system/host_identity.h"

#include <dlfcn.h>

#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"

namespace countrace::runtime {

std::string ContainerOf(std::string_view cgroups) {
  constexpr std::size_t kDigits = 64;
  std::string found;
  std::size_t digits = 0;
  for (std::size_t at = 0; at <= cgroups.size(); ++at) {
    const bool is_digit =
        at < cgroups.size() &&
        absl::ascii_isxdigit(static_cast<unsigned char>(cgroups[at]));
    if (!is_digit && digits == kDigits) {
      found = cgroups.substr(at - kDigits, kDigits);
    }
    digits = is_digit ? digits + 1 : 0;
  }
  return found;
}

std::string MachineHash() {
  struct Id {  // sd_id128_t
    alignas(8) char bytes[16];
  };
  void* const library = dlopen("libsystemd.so.0", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return "";
  const auto hash = reinterpret_cast<int (*)(Id, Id*)>(
      dlsym(library, "sd_id128_get_machine_app_specific"));
  Id application{}, out{};
  absl::HexStringToBytes("dfe895dfbaf846fcafd32ca353fbb7d8")
      .copy(application.bytes, sizeof(application.bytes));
  const bool hashed = hash != nullptr && hash(application, &out) == 0;
  dlclose(library);
  if (!hashed) return "";
  return absl::BytesToHexString({out.bytes, sizeof(out.bytes)});
}

}  // namespace countrace::runtime
