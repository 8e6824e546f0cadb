// YCbCr planes to RGB, each pixel of the picture becoming a square of `magnification` pixels a side.

uniform sampler2D plane0;  // Y, or all of an RGB picture
uniform sampler2D plane1;  // Cb
uniform sampler2D plane2;  // Cr
uniform sampler2D slopes;  // of chroma by luma, as slopes.frag makes them; read where chroma is halved
uniform bool isRGB;
uniform bool isHalved;  // chroma has half the width and height, and sits in the centre of its four pixels
uniform mat3 toRGB;        // samples and results in 0…1
uniform vec3 toRGBOffset;
uniform float brightness;
uniform float saturation;  // 0: grey, 1: in full colour

uniform ivec2 viewport;       // its lower left corner in the window
uniform int viewportHeight;
uniform int magnification;

out vec4 colour;

vec2 chroma(ivec2 place) { return vec2(texelFetch(plane1, place, 0).r, texelFetch(plane2, place, 0).r); }

// The mean of the luma that a chroma sample stands for.
float luma(ivec2 place) {
    ivec2 low = 2 * place;
    ivec2 high = min(low + 1, textureSize(plane0, 0) - 1);
    return 0.25 * (texelFetch(plane0, low, 0).r + texelFetch(plane0, ivec2(high.x, low.y), 0).r +
                   texelFetch(plane0, ivec2(low.x, high.y), 0).r + texelFetch(plane0, high, 0).r);
}

float unpack(vec2 halves) { return dot(floor(halves * 255.0 + 0.5), vec2(256.0, 1.0)) / 8192.0 - 2.0; }

// Linear between the four samples around a pixel, and what its own luma adds to that. Not left to the texture unit, whose
// weights some implementations round so coarsely that it shows.
vec2 interpolated(ivec2 pixel, float own) {
    ivec2 last = textureSize(plane1, 0) - 1;
    vec2 place = vec2(pixel) * 0.5 - 0.25;
    ivec2 low = ivec2(floor(place));
    vec2 share = place - vec2(low);
    ivec2 high = min(low + 1, last);
    low = max(low, ivec2(0));
    ivec2 upperRight = ivec2(high.x, low.y);
    ivec2 lowerLeft = ivec2(low.x, high.y);
    vec2 soft = mix(
        mix(chroma(low), chroma(upperRight), share.x), mix(chroma(lowerLeft), chroma(high), share.x), share.y);
    vec4 bytes = texelFetch(slopes, pixel / 2, 0);
    vec2 slope = vec2(unpack(bytes.rg), unpack(bytes.ba));
    if (slope == vec2(0.0)) return soft;
    float around = mix(mix(luma(low), luma(upperRight), share.x), mix(luma(lowerLeft), luma(high), share.x), share.y);
    return clamp(soft + slope * (own - around), 0.0, 1.0);
}

vec4 shaded(vec3 rgb) {
    return vec4(mix(vec3(dot(rgb, vec3(0.2126, 0.7152, 0.0722))), rgb, saturation) * brightness, 1.0);
}

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy) - viewport;
    pixel = ivec2(pixel.x, viewportHeight - 1 - pixel.y) / magnification;
    vec3 sampled = texelFetch(plane0, pixel, 0).rgb;
    if (isRGB) {
        colour = shaded(sampled);
        return;
    }
    vec3 ycbcr = vec3(sampled.r, isHalved ? interpolated(pixel, sampled.r) : chroma(pixel));
    colour = shaded(clamp(toRGB * ycbcr + toRGBOffset, 0.0, 1.0));
}
