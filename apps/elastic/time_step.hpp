#pragma once

#include <cmath>

#include "bodies.hpp"

namespace whilst::elastic {

/// Below this speed, friction is a drag; in metres per second.
constexpr double creeping = 0.02;

/// Where a vertex would go on its own; Newton's method starts there. Also its drag, if it touches something.
WHILST_HD inline void foresee_vertex(const world& w, index_type i) {
  const double* const x = w.x + 3 * i;
  const double* const velocity = w.velocity + 3 * i;
  for (int c = 0; c < 3; ++c) w.target[3 * i + c] = x[c] + w.h * (velocity[c] - (c == 1 ? w.h * w.gravity : 0));
  double pressed = 0, normal[3] = {0, 0, 0};
  w.contact.where.for_each_contact(x, [&](double depth, const double* centre) {
    const double force = w.contact.stiffness[i] * depth * depth;
    if (!(force > pressed)) return;
    pressed = force;
    double square = 0;
    for (int c = 0; c < 3; ++c) {
      normal[c] = centre ? x[c] - centre[c] : c == 1;
      square += normal[c] * normal[c];
    }
    for (int c = 0; c < 3; ++c) normal[c] /= sqrt(square);
  });
  double along = 0, square = 0;
  for (int c = 0; c < 3; ++c) along += velocity[c] * normal[c];
  for (int c = 0; c < 3; ++c) square += (velocity[c] - along * normal[c]) * (velocity[c] - along * normal[c]);
  w.drag[i] = w.friction * pressed / (w.h * fmax(sqrt(square), creeping));
  for (int c = 0; c < 3; ++c) w.normal[3 * i + c] = normal[c];
}

/// A vertex is at `place` at the end of a step.
WHILST_HD inline void settle_vertex(const world& w, index_type i, const double* place) {
  for (int c = 0; c < 3; ++c) {
    w.velocity[3 * i + c] = (place[c] - w.x[3 * i + c]) / w.h;
    w.x[3 * i + c] = place[c];
  }
}

}  // namespace whilst::elastic
