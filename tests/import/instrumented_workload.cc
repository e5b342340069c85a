// Built with -finstrument-functions: LTTng's preloaded library makes an event
// of each call. 10 calls of OuterWork, each with 3 of InnerWork.
namespace {
volatile int g_sink = 0;
}

void InnerWork() { g_sink = g_sink + 1; }

void OuterWork() {
  for (int i = 0; i < 3; ++i) InnerWork();
}

int main() {
  for (int i = 0; i < 10; ++i) OuterWork();
  return 0;
}
