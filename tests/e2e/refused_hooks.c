// A program whose hooks are refused:
//   refused_hooks            names with a colour, a byte that is no UTF-8 and a
//                            backslash
//   refused_hooks abi        an object of another version of the headers
//   refused_hooks layout     a descriptor of another size
//   refused_hooks filter     an object that is loaded under a seccomp filter
// The last three do with descriptors of theirs what a library does that is
// loaded (countrace/announce.h).
#include <countrace/hooks.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct countrace_hook_site site = {.bytes = sizeof(site),
                                          .kind = COUNTRACE_SITE_POINT,
                                          .provider = "shop",
                                          .name = "loaded"};
static struct countrace_hook_site* const sites[] = {&site};

static int AddFilter(void) {
  struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog filter = {1, &allow};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0;
}

int main(int argc, char** argv) {
  const char* const how = argc > 1 ? argv[1] : "names";
  if (strcmp(how, "names") == 0) {
    COUNTRACE_HOOK("shop\033[5m", "=1+1\377");
    return 0;
  }
  COUNTRACE_HOOK("shop", "fine");
  if (countrace_runtime_attach == NULL) return 2;
  if (strcmp(how, "filter") == 0 && AddFilter()) return 3;
  if (strcmp(how, "layout") == 0) site.bytes -= 8;
  countrace_runtime_attach(sites, sites + 1,
                           COUNTRACE_ABI_VERSION + (strcmp(how, "abi") == 0));
  return 0;
}
