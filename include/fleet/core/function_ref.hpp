#pragma once
#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace fleet {

template <class Signature>
class FunctionRef;

/// A callable that belongs to somebody else, who keeps it alive for the time of the call. Never allocates.
template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <class Function>
  requires(!std::same_as<std::remove_cvref_t<Function>, FunctionRef> && std::invocable<Function&, Arguments...>)
      FunctionRef(Function&& function)  // NOLINT(google-explicit-constructor): any callable is one
      : object_(const_cast<void*>(static_cast<void const*>(std::addressof(function)))),
        call_([](void* object, Arguments... arguments) -> Result {
          return (*static_cast<std::remove_reference_t<Function>*>(object))(std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }

 private:
  void* object_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace fleet
