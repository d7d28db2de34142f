#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/problems/curves/general.hpp"
#include "kernels/problems/curves/nist.hpp"
#include "whilst/basics/host_device.hpp"

/// Models of a curve, y = f(b; x), for least squares.
///
/// A model is a functor: model(b, x) is f for `parameters` values at b and `variables` predictors at x. The scalar S of
/// b is double, float or a number that carries derivatives: it needs + - * /, also with a double on either side, and
/// exp, log, sqrt, sin, cos and atan, found by argument-dependent lookup. What depends on x alone is computed in
/// double. A model whose file states it for a transform of y has the static function response(y).
///
/// The models of the nonlinear regression suite follow the model sections of the NIST Statistical Reference Datasets:
/// https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml. Several data sets may share a model.
namespace whilst {

/// What a fit compares the model with: the observed y, or its transform if the model is stated for one.
template <class Model>
WHILST_HD double curve_response([[maybe_unused]] const Model& model, double y) {
  if constexpr (requires { Model::response(y); }) {
    return Model::response(y);
  } else {
    return y;
  }
}

/// Calls use(name, model) for every name of a model: first the 27 data sets of the NIST suite, then the general models.
template <class Use>
void for_each_curve_model(Use&& use) {
  use(std::string_view("Bennett5"), curves::bennett5{});
  use(std::string_view("BoxBOD"), curves::misra1a{});
  use(std::string_view("Chwirut1"), curves::chwirut1{});
  use(std::string_view("Chwirut2"), curves::chwirut1{});
  use(std::string_view("DanWood"), curves::power{});
  use(std::string_view("Eckerle4"), curves::eckerle4{});
  use(std::string_view("ENSO"), curves::enso{});
  use(std::string_view("Gauss1"), curves::gauss1{});
  use(std::string_view("Gauss2"), curves::gauss1{});
  use(std::string_view("Gauss3"), curves::gauss1{});
  use(std::string_view("Hahn1"), curves::hahn1{});
  use(std::string_view("Kirby2"), curves::kirby2{});
  use(std::string_view("Lanczos1"), curves::lanczos1{});
  use(std::string_view("Lanczos2"), curves::lanczos1{});
  use(std::string_view("Lanczos3"), curves::lanczos1{});
  use(std::string_view("MGH09"), curves::mgh09{});
  use(std::string_view("MGH10"), curves::mgh10{});
  use(std::string_view("MGH17"), curves::mgh17{});
  use(std::string_view("Misra1a"), curves::misra1a{});
  use(std::string_view("Misra1b"), curves::misra1b{});
  use(std::string_view("Misra1c"), curves::misra1c{});
  use(std::string_view("Misra1d"), curves::misra1d{});
  use(std::string_view("Nelson"), curves::nelson{});
  use(std::string_view("Rat42"), curves::rat42{});
  use(std::string_view("Rat43"), curves::rat43{});
  use(std::string_view("Roszman1"), curves::roszman1{});
  use(std::string_view("Thurber"), curves::hahn1{});
  use(std::string_view(curves::polynomial<1>::name), curves::polynomial<1>{});
  use(std::string_view(curves::polynomial<2>::name), curves::polynomial<2>{});
  use(std::string_view(curves::polynomial<3>::name), curves::polynomial<3>{});
  use(std::string_view(curves::exponential::name), curves::exponential{});
  use(std::string_view(curves::logistic::name), curves::logistic{});
  use(std::string_view(curves::power::name), curves::power{});
  use(std::string_view(curves::gaussian::name), curves::gaussian{});
  use(std::string_view(curves::michaelis_menten::name), curves::michaelis_menten{});
}

/// Calls use(model) for the model of this name, ignoring case; false if there is none.
template <class Use>
bool with_curve_model(std::string_view name, Use&& use) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  const auto is_asked_for = [&](std::string_view known) {
    if (known.size() != name.size()) return false;
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (lower(known[i]) != lower(name[i])) return false;
    }
    return true;
  };
  bool found = false;
  for_each_curve_model([&](std::string_view known, const auto& model) {
    if (found || !is_asked_for(known)) return;
    found = true;
    use(model);
  });
  return found;
}

/// One of the models that have these numbers of parameters and variables, chosen at run time: a solver is compiled once
/// for each size, 9 times instead of 27. It has no response(y): ask the model itself.
template <int parameter_count, int variable_count>
class curve_model_of_size {
  template <class... Models>
  struct list {};
  using all = list<curves::bennett5, curves::chwirut1, curves::enso, curves::eckerle4, curves::gauss1, curves::hahn1,
                   curves::kirby2, curves::lanczos1, curves::mgh09, curves::mgh10, curves::mgh17, curves::misra1a,
                   curves::misra1b, curves::misra1c, curves::misra1d, curves::nelson, curves::rat42, curves::rat43,
                   curves::roszman1, curves::polynomial<1>, curves::polynomial<2>, curves::polynomial<3>,
                   curves::exponential, curves::logistic, curves::power, curves::gaussian, curves::michaelis_menten>;
  int place_;

  template <class Model, class... Models>
  static constexpr int place_of(list<Models...>) {
    static_assert((std::is_same_v<Model, Models> || ...), "a model that the list lacks");
    int place = 0;
    (void)((std::is_same_v<Model, Models> || (++place, false)) || ...);
    return place;
  }
  template <class Model, class S>
  WHILST_HD static void evaluate(S& y, const S* b, const double* x) {
    if constexpr (Model::parameters == parameter_count && Model::variables == variable_count) y = Model()(b, x);
  }
  template <class S, class... Models>
  WHILST_HD S value(const S* b, const double* x, list<Models...>) const {
    S y = b[0];
    int place = 0;
    ((place++ == place_ ? evaluate<Models>(y, b, x) : void()), ...);
    return y;
  }

 public:
  static constexpr int parameters = parameter_count, variables = variable_count;

  template <class Model>
  explicit curve_model_of_size(const Model&) : place_(place_of<Model>(all())) {
    static_assert(Model::parameters == parameters && Model::variables == variables);
  }
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    return value(b, x, all());
  }
};
template <class Model>
explicit curve_model_of_size(const Model&) -> curve_model_of_size<Model::parameters, Model::variables>;

/// One line of help on a model.
struct curve_model_entry {
  std::string_view name, formula;
  int parameters, variables;
};

inline std::vector<curve_model_entry> curve_model_list() {
  std::vector<curve_model_entry> list;
  for_each_curve_model([&](std::string_view name, const auto& model) {
    list.push_back({name, model.formula, model.parameters, model.variables});
  });
  return list;
}

}  // namespace whilst
