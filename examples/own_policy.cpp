// A policy of your own: gradients get noise that fades with the updates, as some regularise with.
//   fleetrun --nproc_per_node=2 ./own_policy
#include <cmath>
#include <cstdio>
#include <fleet/fleet.hpp>
#include <vector>

// The settings: a plain value, checked when the strategy is composed.
struct GradientNoise {
  float deviation = 0.1f;  ///< of the noise at the first update; at least 0
  std::uint64_t seed = 0;  ///< the same on every worker, so that all add the same noise

  void validate() const {
    if (!(deviation >= 0)) throw fleet::ConfigurationError("GradientNoise.deviation is negative; give at least 0");
  }

  // A rule about the company it keeps, told by the compiler in these words.
  template <class... Others>
  struct among {
    static_assert(!(fleet::same_kind<fleet::DGC, Others> || ...),
                  "GradientNoise acts on dense gradients, DGC sends few of them. Leave one of the two out.");
  };

  class State;
};

// What it keeps while the program runs, made once the parameters are known. Hooks live here.
class GradientNoise::State {
 public:
  State(GradientNoise const& settings, fleet::Setup const& setup) : settings_(settings) {
    if (settings.deviation == 0) setup.notes.emplace_back("GradientNoise adds nothing: its deviation is 0");
  }

  void before_update(fleet::Step& step) {  // gradients are reduced, averaged and clipped by now
    auto const size = settings_.deviation / std::sqrt(static_cast<float>(1 + step.update_index()));
    for (auto& parameter : step.parameters()) {
      auto random = fleet::Random{settings_.seed}.split(step.update_index(), step.index_of(parameter));
      for (auto& element : parameter.gradient) element += size * random.normal();
    }
  }

  template <class Archive>
  void archive(Archive&) {}  // nothing to save: the noise follows from seed and update

 private:
  GradientNoise settings_;
};

struct Bowl {
  std::vector<float> position{5, -3}, gradient{0, 0};

  auto parameters() { return std::array{fleet::Parameter{"position", position, gradient}}; }
  float forward_backward(float) {
    gradient = position;
    return 0.5f * (position[0] * position[0] + position[1] * position[1]);
  }
};

int main(int argc, char** argv) {
  auto job = fleet::init(argc, argv);
  Bowl bowl;
  auto trainer = fleet::distribute(job, bowl, fleet::optim::SGD{.learning_rate = 0.1f},
                                   fleet::Strategy{fleet::GradientMerge<2>{}, GradientNoise{.deviation = 0.05f}});
  for (int step = 0; step < 200; ++step) trainer.step(0.0f);
  job.print_on_rank(fleet::text("ends at ", bowl.position[0], ", ", bowl.position[1]));
  return std::abs(bowl.position[0]) < 0.1f && std::abs(bowl.position[1]) < 0.1f ? 0 : 1;
}
