// expect: WrongArgument.*its_hook_before_update
#include <fleet/fleet.hpp>

struct WrongArgument {
  void before_update(int) {}
};

auto misuse() { return fleet::Strategy{WrongArgument{}}; }
