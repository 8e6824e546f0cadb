// A bitmap with premultiplied opacity, pixel on pixel.

uniform sampler2D bitmap;
uniform ivec2 viewport;  // its lower left corner in the window
uniform int viewportHeight;

out vec4 colour;

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy) - viewport;
    colour = texelFetch(bitmap, ivec2(pixel.x, viewportHeight - 1 - pixel.y), 0);
}
