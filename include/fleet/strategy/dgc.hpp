#pragma once
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include <fleet/core/aligned.hpp>
#include <fleet/core/error.hpp>
#include <fleet/optim/clip.hpp>
#include <fleet/optim/momentum.hpp>
#include <fleet/strategy/detail/corrected_momentum.hpp>
#include <fleet/strategy/fwd.hpp>
#include <fleet/strategy/hooks.hpp>
#include <fleet/strategy/span_sum.hpp>

namespace fleet {

/// Deep gradient compression: of each large tensor only the elements whose accumulated update is greatest are sent;
/// the rest waits on its worker (golden README 8). It takes rate, momentum, Nesterov's form and regularisation of
/// optim::Momentum, and keeps a velocity u and a residual v for each large tensor. h = clipped gradient + decay:
///   u = momentum * u + h;  v = v + u        (Nesterov: u = momentum * (u + h);  v = v + u + h)
///   the greatest k of |v| are sent, and u and v become 0 there;  p = p - learning_rate * (sum of what was sent) / N
/// Until `rampup_begin_step`, and always for small tensors, it is ordinary momentum on the mean gradient. Updates are
/// counted, not steps, so a merged window or a skipped step does not advance the ramp-up.
struct DGC {
  std::int64_t rampup_begin_step = 0;  ///< updates before compression begins, at least 0
  std::int64_t rampup_step = 1;        ///< updates over which `sparsity` is run through, at least 1
  std::vector<float> sparsity{};       ///< shares that are not sent, each in [0, 1); none: 0.999
  std::size_t min_elements = 16'384;   ///< smaller tensors are never compressed
  float clip_norm = 0;                 ///< limit on the norm of each tensor's mean gradient; 0: none

  static constexpr Phase phase = Phase::sparsify;
  static constexpr bool replaces_reduction = true;

  void validate() const {
    if (rampup_begin_step < 0)
      throw ConfigurationError(text("fleet: DGC.rampup_begin_step is ", rampup_begin_step, "; give at least 0"));
    if (rampup_step < 1) throw ConfigurationError(text("fleet: DGC.rampup_step is ", rampup_step, "; give at least 1"));
    for (auto share : sparsity)
      if (!(share >= 0 && share < 1))
        throw ConfigurationError(text("fleet: DGC.sparsity has ", share, "; give shares of at least 0 and below 1"));
    if (!(clip_norm >= 0))
      throw ConfigurationError(text("fleet: DGC.clip_norm is ", clip_norm, "; give 0 (none) or a positive number"));
  }

  /// The share that is not sent at an update, counted from 0; nothing before compression begins.
  std::optional<double> sparsity_at(std::int64_t update) const {
    if (update < rampup_begin_step) return {};
    if (sparsity.empty()) return 0.999;
    auto const length = static_cast<std::int64_t>(sparsity.size());
    auto const place = (update - rampup_begin_step) * length / rampup_step;
    return as_written(sparsity[static_cast<std::size_t>(std::min(place, length - 1))]);
  }
  /// How many of a tensor's elements are sent, at least 1.
  static std::size_t sent_of(std::size_t elements, double sparsity) {
    return std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<double>(elements) * (1 - sparsity)));
  }

  template <class Optimizer>
  struct with {
    static_assert(std::is_base_of_v<optim::Momentum, Optimizer>,
                  "fleet: DGC corrects the momentum of what it holds back, so it needs optim::Momentum. Pass "
                  "optim::Momentum, or leave DGC out.");
  };
  template <class... Policies>
  struct among {
    static_assert(!(same_kind<LARS, Policies> || ...), "fleet: DGC and LARS both own the momentum. Keep one of them.");
    static_assert(!(same_kind<LAMB, Policies> || ...),
                  "fleet: DGC needs optim::Momentum and LAMB needs optim::Adam. Keep one of them.");
    static_assert(!(same_kind<LocalSGD, Policies> || ...) && !(same_kind<AdaptiveLocalSGD, Policies> || ...),
                  "fleet: DGC compresses gradients, and LocalSGD and AdaptiveLocalSGD send none. Keep one of them.");
  };

  class State;

 private:
  /// The number whose shortest text is that of a float: 0.99 for 0.99f.
  static double as_written(float number) {
    auto const digits = text(number);
    double out = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return out;
  }
};

class DGC::State {
 public:
  State(DGC const& settings, Setup const& setup, optim::Momentum const& optimizer)
      : settings_(settings), optimizer_(optimizer), parameters_(setup.parameters), tensors_(setup.parameters.size()) {
    if (setup.workers.size() == 1) {
      setup.notes.emplace_back("DGC sends nothing on one worker: ordinary momentum");
      return;
    }
    std::size_t longest = 0;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      auto const count = parameters_[i].value.size();
      if (parameters_[i].distributed || count < std::max<std::size_t>(settings.min_elements, 1)) continue;
      if (count > std::numeric_limits<std::uint32_t>::max())
        throw ConfigurationError(text("fleet: DGC counts the elements of a tensor in 32 bits, and ",
                                      parameters_[i].name, " has ", count,
                                      "; split it, or set min_elements above that"));
      tensors_[i].velocity.resize(count);
      tensors_[i].residual.resize(count);
      longest = std::max(longest, count);
    }
    touched_.resize(longest / 64 + 1);
    if (longest == 0)
      setup.notes.push_back(text("DGC compresses nothing: no tensor has min_elements = ", settings.min_elements));
  }

  /// In place of the reduction: dense tensors are summed whole, of the others what was chosen.
  void before_update(Step& step) {
    if (step.workers().size() == 1) return;
    step.apply_gradient_factor();
    auto const sparsity = settings_.sparsity_at(step.update_index());
    summed_.clear();
    outbox_.clear();
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      auto& tensor = tensors_[i];
      tensor.form = Form::apart;
      if (parameters_[i].distributed || !parameters_[i].trainable || !step.used(i)) continue;
      tensor.form = Form::dense;
      if (sparsity && !tensor.velocity.empty())
        take_up(i, sent_of(tensor.velocity.size(), *sparsity), step.workers().size());
      if (tensor.form != Form::sparse) summed_.push_back(parameters_[i].gradient);
    }
    sum_(summed_, step.workers());
    exchange(step.workers());
    step.scale_gradients(1 / static_cast<float>(step.workers().size()));
    if (settings_.clip_norm > 0)
      for (std::size_t i = 0; i < tensors_.size(); ++i)
        if (tensors_[i].form == Form::dense) clip(parameters_[i].gradient, step.gradient_factor());
  }

  void update(Step& step, Parameter& parameter, NextUpdate next) {
    auto& tensor = tensors_[step.index_of(parameter)];
    if (tensor.velocity.empty()) return next();
    float const* gradient = parameter.gradient.data();
    float* const value = parameter.value.data();
    float const rate = step.learning_rate(), scaled = rate * step.gradient_factor();
    if (tensor.form == Form::sparse) {
      for (auto place : tensor.places) value[place] -= scaled * gradient[place];
    } else if (tensor.form == Form::whole) {
      for_each_vector(
          parameter.value.size(), [scaled](auto& g, auto& p) { p -= scaled * g; }, gradient, value);
    } else {
      detail::DenseUpdate const dense{
          {optimizer_.regularization, step.gradient_factor()}, optimizer_.momentum, rate, optimizer_.nesterov};
      for_each_vector(parameter.value.size(), dense, gradient, value, tensor.velocity.data());
    }
  }

  template <class Archive>
  void archive(Archive& archive) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      archive(text("velocity/", parameters_[i].name), std::span<float>{tensors_[i].velocity});
      archive(text("residual/", parameters_[i].name), std::span<float>{tensors_[i].residual});
    }
  }

 private:
  /// What becomes of a tensor in the step at hand.
  enum class Form : std::uint8_t {
    apart,   ///< not reduced
    dense,   ///< its gradient is
    sparse,  ///< the chosen elements of its residual are
    whole,   ///< its residual is, since all elements are chosen
  };

  struct Tensor {
    AlignedVector<float> velocity, residual;  ///< empty: too small, left to the optimizer
    Form form = Form::apart;
    std::size_t sent = 0;               ///< elements
    std::vector<std::uint32_t> places;  ///< where any worker sent something, in this step
  };

  /// Puts what is sent into the outbox, or into the gradient if that is everything.
  void take_up(std::size_t i, std::size_t sent, int workers) {
    auto& tensor = tensors_[i];
    auto const gradient = parameters_[i].gradient;
    float const* const value = parameters_[i].value.data();
    float factor = 1;
    if (settings_.clip_norm > 0)
      factor = optim::clip_factor(optim::norm(gradient), settings_.clip_norm * std::sqrt(static_cast<float>(workers)));
    detail::TakeUp pass{{optimizer_.regularization, factor},
                        optimizer_.momentum,
                        optimizer_.nesterov,
                        top_.begin(gradient.size(), sent)};
    for_each_vector(gradient.size(), pass, gradient.data(), value, tensor.velocity.data(), tensor.residual.data());
    tensor.sent = sent;
    if (sent == gradient.size()) {
      tensor.form = Form::whole;
      std::copy(tensor.residual.begin(), tensor.residual.end(), gradient.begin());
      std::fill(tensor.residual.begin(), tensor.residual.end(), 0.0f);
      return;
    }
    tensor.form = Form::sparse;
    pass.notes.finish();
    for (auto place : top_.choose(tensor.residual)) {
      auto const bits = std::bit_cast<std::uint32_t>(tensor.residual[place]);
      outbox_.push_back(std::uint64_t{place} << 32 | bits);
      tensor.residual[place] = tensor.velocity[place] = 0;
    }
  }

  /// One message with the pairs (place, value) of all sparse tensors; they are added up in the order of the workers.
  void exchange(comm::Communicator& workers) {
    if (outbox_.empty()) return;
    inbox_.resize(outbox_.size() * static_cast<std::size_t>(workers.size()));
    workers.all_gather(std::span<std::uint64_t const>{outbox_}, std::span{inbox_});
    std::size_t first = 0;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      auto& tensor = tensors_[i];
      if (tensor.form != Form::sparse) continue;
      tensor.places.clear();
      for (auto from = first; from < inbox_.size(); from += outbox_.size())
        for (auto pair : std::span{inbox_}.subspan(from, tensor.sent)) add(tensor, parameters_[i].gradient, pair);
      for (auto place : tensor.places) touched_[place / 64] = 0;
      first += tensor.sent;
    }
  }

  void add(Tensor& tensor, std::span<float> gradient, std::uint64_t pair) {
    auto const place = static_cast<std::uint32_t>(pair >> 32);
    if (place >= gradient.size())
      throw TransportError(TransportError::Cause::mismatch, -1, "all_gather",
                           text("fleet: DGC got an element ", place, " of a tensor of ", gradient.size(),
                                " from another worker; run the same program on every worker"));
    auto const bit = std::uint64_t{1} << (place % 64);
    if ((touched_[place / 64] & bit) == 0) tensor.places.push_back(place);
    touched_[place / 64] |= bit;
    gradient[place] += std::bit_cast<float>(static_cast<std::uint32_t>(pair));
  }

  /// The limit on a mean gradient, which is `factor` times what is stored.
  void clip(std::span<float> gradient, float factor) const {
    optim::scale(gradient,
                 optim::clip_factor(static_cast<double>(factor) * optim::norm(gradient), settings_.clip_norm));
  }

  DGC settings_;
  optim::Momentum optimizer_;
  std::span<Parameter const> parameters_;
  std::vector<Tensor> tensors_;
  TopK top_;
  SpanSum sum_;
  std::vector<std::span<float>> summed_;
  std::vector<std::uint64_t> outbox_, inbox_;
  std::vector<std::uint64_t> touched_;  // one bit an element of the tensor at hand
};

}  // namespace fleet
